/** What a judgement of blame is given and gives. */
import type { DaemonSet } from '../kubernetes/objects.ts';
import type { Finding } from './finding.ts';
import type { Blame, Evidence } from './model.ts';

export interface BlameVerdict {
  blame: Blame;
  reason: string;
  /** What it rests on, and what would change it. */
  evidence: Evidence[];
}

/** What of a gap its blame rests on. */
export interface BlamedGap {
  finding: Finding;
  daemonSet: DaemonSet;
  node: string;
  zone: string | undefined;
  arch: string | undefined;
  revision: string | undefined;
  /** Epoch ms. */
  since: number;
  /** A record tells since when it is there; otherwise `since` is an estimate. */
  recorded: boolean;
  /** How long the pods of an update have to become Ready, ms. */
  updateDeadlineMs: number;
  /** Epoch ms. */
  now: number;
}

/** "Many" nodes: at least so many, and at least half of them. */
const MANY_NODES = 2;
const MANY_SHARE = 0.5;

export function isMany(nodes: number, of: number): boolean {
  return nodes >= MANY_NODES && nodes >= MANY_SHARE * of;
}

/** "A few" nodes of those that run a revision: a single one, or less than a fifth. */
const FEW_SHARE = 0.2;

export function isFew(nodes: number, of: number): boolean {
  return nodes <= 1 || nodes < FEW_SHARE * of;
}

/** A zone, or everything outside it, in nodes. */
export interface Share {
  nodes: number;
  failing: number;
}

/** A zone fails: so many nodes, half of its nodes, and hardly any elsewhere. */
export const ZONE_NODES = 3;
export const ZONE_SHARE = 0.5;
export const ZONE_SHARE_ELSEWHERE = 0.2;

export function zoneFails({ inside, outside }: { inside: Share; outside: Share }): boolean {
  return (
    inside.failing >= ZONE_NODES &&
    inside.failing >= ZONE_SHARE * inside.nodes &&
    outside.failing <= ZONE_SHARE_ELSEWHERE * outside.nodes
  );
}

export function node(reason: string, evidence: Evidence[]): BlameVerdict {
  return { blame: 'node', reason, evidence };
}

export function daemonset(reason: string, evidence: Evidence[]): BlameVerdict {
  return { blame: 'daemonset', reason, evidence };
}

export function zone(reason: string, evidence: Evidence[]): BlameVerdict {
  return { blame: 'zone', reason, evidence };
}

export function cluster(reason: string, evidence: Evidence[]): BlameVerdict {
  return { blame: 'cluster', reason, evidence };
}

export function unclear(reason: string, evidence: Evidence[]): BlameVerdict {
  return { blame: 'unclear', reason, evidence };
}

/** `daemonset namespace/name`, as evidence names it. */
export function daemonSetName({ metadata }: DaemonSet): string {
  return `daemonset ${metadata.namespace}/${metadata.name}`;
}

/** Evidence of a number that was counted over the nodes or pods of the DaemonSet. */
export function counted(
  { daemonSet }: BlamedGap,
  field: string,
  value: string,
  wouldChange?: string,
): Evidence {
  return {
    object: daemonSetName(daemonSet),
    field,
    value,
    ...(wouldChange === undefined ? {} : { wouldChange }),
  };
}
