/** Ages of a gap: since when it is there, whether it is past its grace, whether it is confirmed. */
import { parseTime } from '../clock.ts';
import type { DaemonSet, Node, ObjectMeta, Pod, Taint } from '../kubernetes/objects.ts';
import type { DetectionPolicy, GapRecord } from './model.ts';
import type { NodeHealth } from './node-health.ts';
import type { Readiness } from './readiness.ts';
import { readyChangedAt } from './readiness.ts';

/** After this time past its deadline a deletion counts as stuck. */
const STUCK_AFTER_MS = 60_000;

/** What is known of a pair's past. */
export type History =
  /** No records are kept: ages come from the objects. */
  | { kind: 'none' }
  /** Records are kept and there is none of this pair: this is its first sighting. */
  | { kind: 'first-sighting' }
  | { kind: 'record'; record: GapRecord };

export interface GapTimes {
  /** Epoch ms, never after now. */
  since: number;
  /** Whether records are kept, so that its age is more than a guess. */
  recorded: boolean;
  nodeYoung: boolean;
  /** Its pod, or the gap when pods are replaced again and again, is younger than the pod grace. */
  podYoung: boolean;
  /** Epoch ms; absent when neither node nor pod tells its age. */
  graceEndsAt?: number;
  pastGrace: boolean;
  confirmed: boolean;
}

interface TimedPair {
  node: Node;
  health: NodeHealth;
  daemonSet: DaemonSet;
  readiness: Readiness;
  /** Taints that keep a new pod out. */
  blockedBy: readonly { taint: Taint }[];
}

/** Computes all ages of a gap at `now` (epoch ms). */
export function timesOf(
  pair: TimedPair,
  history: History,
  policy: DetectionPolicy,
  now: number,
): GapTimes {
  const estimate = Math.min(now, estimatedStart(pair) ?? now);
  const since = history.kind === 'record' ? Math.min(now, history.record.firstSeen) : estimate;
  const nodeGraceEnd = createdAt(pair.node) + policy.nodeGraceMs;
  const podGraceEnd = unreadyStart(pair, history, estimate, now) + policy.podGraceMs;
  const deletionDeadline = deletionDeadlineOf(pair.readiness);
  const graceEnd = Math.max(nodeGraceEnd, podGraceEnd, deletionDeadline + STUCK_AFTER_MS);
  return {
    since,
    recorded: history.kind !== 'none',
    nodeYoung: now < nodeGraceEnd,
    podYoung: now < podGraceEnd,
    ...(Number.isFinite(graceEnd) ? { graceEndsAt: graceEnd } : {}),
    pastGrace: now >= graceEnd,
    confirmed: isConfirmed(history, graceEnd, policy, now),
  };
}

/**
 * When the deletion of a pod was asked for, epoch ms: its deadline less the grace period, and never
 * before it was made. Undefined when that cannot be told, as with a grace period longer than all time.
 */
export function deletionAskedAt(pod: Pod): number | undefined {
  const deadline = parseTime(pod.metadata.deletionTimestamp);
  if (deadline === undefined) return undefined;
  const grace =
    pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  const asked = Math.max(deadline - Math.max(0, grace) * 1000, Math.min(createdAt(pod), deadline));
  return asked > 0 ? asked : undefined;
}

/** Whether the kubelet should have finished the deletion of the pod by now. */
export function isStuck(pod: Pod, now: number): boolean {
  const deadline = parseTime(pod.metadata.deletionTimestamp);
  return deadline !== undefined && now > deadline + STUCK_AFTER_MS;
}

/** Since when a taint is there, as far as it says. */
export function taintedAt(node: Node, taint: Taint): number {
  return Math.max(createdAt(node), parseTime(taint.timeAdded) ?? Number.NEGATIVE_INFINITY);
}

/** Epoch ms; a node without a readable creation time has no grace. */
export function createdAt(object: { metadata: ObjectMeta }): number {
  return parseTime(object.metadata.creationTimestamp) ?? Number.NEGATIVE_INFINITY;
}

/** The best guess at the start of a gap that the objects allow. */
function estimatedStart({
  node,
  health,
  daemonSet,
  readiness,
  blockedBy,
}: TimedPair): number | undefined {
  if (health.kind === 'not-ready') return health.since ?? finite(createdAt(node));
  if (readiness.kind === 'terminating') return deletionAskedAt(readiness.pod);
  if (readiness.kind !== 'absent') {
    return readyChangedAt(readiness.pod) ?? finite(createdAt(readiness.pod));
  }
  const tainted = Math.max(...blockedBy.map(({ taint }) => taintedAt(node, taint)));
  return finite(Math.max(createdAt(node), createdAt(daemonSet), tainted));
}

/** What the pod grace is counted from. */
function unreadyStart(
  { readiness }: TimedPair,
  history: History,
  estimate: number,
  now: number,
): number {
  const firstSeen = history.kind === 'record' ? history.record.firstSeen : undefined;
  if (readiness.kind === 'absent') {
    // When a pod went away cannot be read off anything: with records kept, count from the first.
    return history.kind === 'none' ? estimate : (firstSeen ?? now);
  }
  const start =
    readiness.kind === 'terminating'
      ? (deletionAskedAt(readiness.pod) ?? createdAt(readiness.pod))
      : createdAt(readiness.pod);
  return Math.min(start, firstSeen ?? start);
}

function deletionDeadlineOf(readiness: Readiness): number {
  return readiness.kind === 'terminating'
    ? (parseTime(readiness.pod.metadata.deletionTimestamp) ?? Number.NEGATIVE_INFINITY)
    : Number.NEGATIVE_INFINITY;
}

/**
 * Without history there is nothing to confirm with. With it, the gap must have been seen in enough
 * scans and for long enough since both its first sighting and the end of its grace.
 */
export function isConfirmed(
  history: History,
  graceEnd: number,
  policy: DetectionPolicy,
  now: number,
): boolean {
  switch (history.kind) {
    case 'none':
      return true;
    case 'first-sighting':
      return false;
    case 'record': {
      const { firstSeen, sightings } = history.record;
      return (
        sightings >= policy.confirmationScans &&
        now - Math.max(graceEnd, firstSeen) >= policy.confirmationMs
      );
    }
  }
}

function finite(time: number): number | undefined {
  return Number.isFinite(time) ? time : undefined;
}
