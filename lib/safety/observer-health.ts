/**
 * Whether nodegap itself sees well. When most nodes seem to fail in one read, the fault is more
 * likely on the way to them (control plane, network, a node controller that is down) than in each;
 * an API server that answers much later than usual shows a past that nobody knows the age of; and
 * by a clock that is wrong no age is right, nor what came before what.
 */
import { nodeHealthOf } from '../gap/node-health.ts';
import { createdAt } from '../gap/timing.ts';
import type { Node } from '../kubernetes/objects.ts';

export interface ObserverFacts {
  nodes: readonly Node[];
  /** Epoch ms. */
  now: number;
  /** Leaves out Fargate, hybrid and leaving nodes. */
  isCounted(node: Node): boolean;
  zoneOf(node: Node): string | undefined;
  /** A younger node may still be booting: it says nothing. */
  nodeGraceMs: number;
  /** How long the read took, and how long it takes otherwise, where that is known. */
  tookMs?: number;
  usualMs?: number;
  /** As of ClusterFacts. */
  clockAheadMs?: number;
}

export interface ObserverDoubt {
  code: 'observer-unwell';
  message: string;
}

/** Fewer nodes than this are no wave. */
const waveNodes = 2;
/** Zones that fail as a whole, and nodes in them. */
const waveZones = 2;
const waveZoneNodes = 3;

/** No read may take longer, whatever is usual. */
const slowestMs = 60_000;
/** Faster than this is never slow. */
const fastMs = 10_000;
const slowFactor = 5;

/** Clocks may differ by this. NTP keeps them within a second, and graces are minutes. */
export const toleratedSkewMs = 5_000;

/** Why the read cannot be believed as a whole, or undefined when it can. */
export function observerDoubt(facts: ObserverFacts): ObserverDoubt | undefined {
  const message = skew(facts) ?? waveIn(facts) ?? slowness(facts);
  return message === undefined ? undefined : { code: 'observer-unwell', message };
}

function skew({ clockAheadMs = 0 }: ObserverFacts): string | undefined {
  if (Math.abs(clockAheadMs) <= toleratedSkewMs) return undefined;
  const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
  const side = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return `the clock here is ${seconds} s or more ${side} that of the API server, so no age can be told: set the clock`;
}

function waveIn({ nodes, now, isCounted, zoneOf, nodeGraceMs }: ObserverFacts): string | undefined {
  const counted = nodes.filter((node) => isCounted(node) && now - createdAt(node) >= nodeGraceMs);
  const failing = counted.filter((node) => nodeHealthOf(node, now).kind !== 'ready');
  if (failing.length < waveNodes) return undefined;
  if (failing.length * 2 > counted.length) {
    return `${failing.length} of ${counted.length} nodes are not Ready or silent at once: rather the way to them is broken than each of them`;
  }
  const down = new Set(failing);
  const byZone = Map.groupBy(
    counted.filter((node) => zoneOf(node) !== undefined),
    zoneOf,
  );
  const zones = [...byZone].filter(([, members]) => members.every((node) => down.has(node)));
  const inZones = zones.reduce((sum, [, members]) => sum + members.length, 0);
  if (zones.length < waveZones || inZones < waveZoneNodes) return undefined;
  const names = zones.map(([zone]) => zone).sort();
  return `all ${inZones} nodes of the zones ${names.join(' and ')} are not Ready or silent at once: rather the way to them is broken than each of them`;
}

function slowness({ tookMs, usualMs }: ObserverFacts): string | undefined {
  if (tookMs === undefined || tookMs <= fastMs) return undefined;
  const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`;
  if (tookMs > slowestMs) {
    return `reading the cluster took ${seconds(tookMs)}, longer than ${seconds(slowestMs)}: what was read first is too old`;
  }
  return usualMs !== undefined && tookMs > slowFactor * usualMs
    ? `reading the cluster took ${seconds(tookMs)}, and ${seconds(usualMs)} otherwise: the API server is unwell`
    : undefined;
}

/** What is usual after one more read; a single outlier moves it little. */
export function usualAfter(usualMs: number | undefined, tookMs: number): number {
  if (usualMs === undefined) return tookMs;
  const bounded = Math.min(tookMs, 2 * usualMs + 100);
  return Math.round(usualMs + (bounded - usualMs) / 8);
}
