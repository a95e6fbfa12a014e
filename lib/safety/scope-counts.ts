/** How much of each pool, each zone and the cluster is unhealthy: what the breaker judges. */
import { OWN_CONDITION_TAINT_PREFIX } from '../gap/eligibility.ts';
import type { Fault } from '../gap/model.ts';
import { conditionOf, type Node } from '../kubernetes/objects.ts';
import {
  CLUSTER_SCOPE,
  labelOf,
  type Scope,
  type ScopeKind,
  sameScope,
  scopesContaining,
} from './scope.ts';

/** Names that a count carries for messages. */
const NAMES_SHOWN = 20;

export interface ScopeCount {
  kind: ScopeKind;
  name: string;
  total: number;
  unhealthy: number;
  limit: number;
  /** Sorted, at most 20. */
  unhealthyNodes: string[];
  /** All unhealthy nodes, so that places taken after the count are not counted twice. */
  unhealthyUids?: string[];
  /** What `limit` was computed from, for messages. */
  percent?: number;
  /** The limit by number, where one is configured. */
  most?: number;
  /** Of a zone: so many unhealthy nodes make it suspect when hardly any are elsewhere. */
  zoneAtLeast?: number;
}

/** A node that an execution works on, whether its object still exists or not. */
export interface NodeInWork {
  node: string;
  nodeUid: string;
  pool?: string;
  zone?: string;
}

/**
 * How many nodes of `total` may be unhealthy: `percent` of them rounded down, at least 1, and
 * `most` at most. None at 0 % (never act) and in an empty scope.
 */
export function breakerLimit(percent: number, total: number, most = Infinity): number {
  if (percent === 0 || total === 0) return 0;
  const hundredths = percent * total;
  return Math.min(most, Math.max(1, (hundredths - (hundredths % 100)) / 100));
}

/**
 * Counts nodes per pool, per zone and for the cluster, in that order, by name within a kind.
 *
 * Unhealthy are nodes with a gap past its grace, whatever the blame, in a required DaemonSet whose
 * ceiling is isolate or replace; nodes in work; nodes that bear a NoSchedule taint of
 * `conditionTaints`; and nodes whose Ready condition is not True. With
 * `now` and `nodeGraceMs` a node younger than that may still be booting and counts as healthy.
 * Nodes that `isCounted` leaves out (Fargate, hybrid, leaving) count only while in work.
 */
export function countScopes(input: {
  nodes: Node[];
  gaps: readonly Fault[];
  inWork: NodeInWork[];
  percent: number;
  /** Limit by number, on top of `percent`. */
  most?: number;
  /** For the rule of one zone (zone-rule.ts); none when absent. */
  zoneAtLeast?: number;
  isCounted(node: Node): boolean;
  poolOf(node: Node): string | undefined;
  zoneOf(node: Node): string | undefined;
  now?: number;
  nodeGraceMs?: number;
}): ScopeCount[] {
  const inWork = new Map(input.inWork.map((work) => [work.nodeUid, work]));
  const withGap = new Set(
    input.gaps
      .filter((gap) => gap.required && gap.pastGrace && gap.ceiling !== 'alert')
      .map((gap) => gap.nodeUid),
  );
  const tallies = new Map([[labelOf(CLUSTER_SCOPE), tallyOf(CLUSTER_SCOPE)]]);
  const add = (member: NodeInWork, unhealthy: boolean) => {
    for (const scope of scopesContaining(member)) {
      const tally = tallies.get(labelOf(scope)) ?? tallyOf(scope);
      tallies.set(labelOf(scope), tally);
      tally.total += 1;
      if (unhealthy) tally.unhealthy.push({ name: member.node, uid: member.nodeUid });
    }
  };

  for (const node of input.nodes) {
    const { name, uid } = node.metadata;
    const work = inWork.get(uid);
    inWork.delete(uid);
    if (work !== undefined) {
      add(
        placed(name, uid, work.pool ?? input.poolOf(node), work.zone ?? input.zoneOf(node)),
        true,
      );
    } else if (input.isCounted(node)) {
      add(
        placed(name, uid, input.poolOf(node), input.zoneOf(node)),
        withGap.has(uid) ||
          bearsConditionTaint(node) ||
          notReady(node, input.now, input.nodeGraceMs),
      );
    }
  }
  for (const gone of inWork.values()) add(gone, true);

  return [...tallies.values()]
    .map((tally) => countOf(tally, input))
    .sort((a, b) => kindOrder(a) - kindOrder(b) || compare(a.name, b.name));
}

interface Tally extends Scope {
  total: number;
  unhealthy: { name: string; uid: string }[];
}

function tallyOf(scope: Scope): Tally {
  return { ...scope, total: 0, unhealthy: [] };
}

function countOf(
  tally: Tally,
  { percent, most, zoneAtLeast }: { percent: number; most?: number; zoneAtLeast?: number },
): ScopeCount {
  const sorted = tally.unhealthy.sort((a, b) => compare(a.name, b.name));
  return {
    kind: tally.kind,
    name: tally.name,
    total: tally.total,
    unhealthy: sorted.length,
    limit: breakerLimit(percent, tally.total, most),
    unhealthyNodes: sorted.slice(0, NAMES_SHOWN).map(({ name }) => name),
    unhealthyUids: sorted.map(({ uid }) => uid),
    percent,
    ...(most === undefined ? {} : { most }),
    ...(tally.kind === 'zone' && zoneAtLeast !== undefined ? { zoneAtLeast } : {}),
  };
}

function placed(
  node: string,
  nodeUid: string,
  pool: string | undefined,
  zone: string | undefined,
): NodeInWork {
  return {
    node,
    nodeUid,
    ...(pool === undefined ? {} : { pool }),
    ...(zone === undefined ? {} : { zone }),
  };
}

/** Whether new pods stay away from the node for what a condition says. */
function bearsConditionTaint({ spec }: Node): boolean {
  return (
    spec.taints?.some(
      ({ key, effect }) => key.startsWith(OWN_CONDITION_TAINT_PREFIX) && effect === 'NoSchedule',
    ) === true
  );
}

function notReady(node: Node, now: number | undefined, nodeGraceMs: number | undefined): boolean {
  if (conditionOf(node.status.conditions, 'Ready')?.status === 'True') return false;
  if (now === undefined || nodeGraceMs === undefined) return true;
  // A node without a readable creation time has no known age, so no grace either.
  return !(now - Date.parse(node.metadata.creationTimestamp ?? '') < nodeGraceMs);
}

/** The counts whose breaker decides about a node. */
export function countsFor(
  counts: readonly ScopeCount[],
  node: { pool?: string; zone?: string },
): ScopeCount[] {
  const scopes = scopesContaining(node);
  return counts.filter((count) => scopes.some((scope) => sameScope(scope, count)));
}

function kindOrder(scope: Scope): number {
  return ['pool', 'zone', 'cluster'].indexOf(scope.kind);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
