/** Whether the pods of one DaemonSet cover one node. */
import { parseTime } from '../clock.ts';
import { conditionOf, type Pod } from '../kubernetes/objects.ts';

export type Readiness =
  | { kind: 'ready'; pod: Pod }
  /** Ready, but not yet for the DaemonSet's minReadySeconds. */
  | { kind: 'settling'; pod: Pod }
  | { kind: 'unready'; pod: Pod }
  | { kind: 'terminating'; pod: Pod }
  | { kind: 'absent' };

/** Ready condition `True` on a Running pod. Container flags do not count: they may be stale. */
export function isReady(pod: Pod): boolean {
  return (
    pod.status.phase === 'Running' && conditionOf(pod.status.conditions, 'Ready')?.status === 'True'
  );
}

/** Since when the Ready condition is what it is, epoch ms. */
export function readyChangedAt(pod: Pod): number | undefined {
  return parseTime(conditionOf(pod.status.conditions, 'Ready')?.lastTransitionTime);
}

export function isFinished(pod: Pod): boolean {
  return pod.status.phase === 'Failed' || pod.status.phase === 'Succeeded';
}

/**
 * A kubelet that runs a pod reports its Ready condition, and the API server gives every pod a phase:
 * one without is a read that lost something. A Pending pod has none before a kubelet takes it.
 */
export function saysNothing({ status }: Pod): boolean {
  if (status.phase === undefined) return true;
  return status.phase === 'Running' && conditionOf(status.conditions, 'Ready') === undefined;
}

/**
 * Judges the pods that a DaemonSet owns for one node. Any Ready pod covers the node, of whatever
 * template revision. A pod that is being deleted and has ended counts as gone; one that is being
 * deleted and still runs covers nothing.
 */
export function readinessOf(pods: readonly Pod[], minReadySeconds: number, now: number): Readiness {
  let settling: Pod | undefined;
  let unready: Pod | undefined;
  let terminating: Pod | undefined;
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp !== undefined) {
      if (!isFinished(pod) && isNewer(pod, terminating)) terminating = pod;
    } else if (!isReady(pod)) {
      if (speaksRather(pod, unready)) unready = pod;
    } else if (isAvailable(pod, minReadySeconds, now)) {
      return { kind: 'ready', pod };
    } else {
      settling ??= pod;
    }
  }
  if (settling !== undefined) return { kind: 'settling', pod: settling };
  if (unready !== undefined) return { kind: 'unready', pod: unready };
  if (terminating !== undefined) return { kind: 'terminating', pod: terminating };
  return { kind: 'absent' };
}

/** Kubernetes' IsPodAvailable, for a pod that is Ready. */
function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  if (minReadySeconds === 0) return true;
  const readySince = readyChangedAt(pod);
  return readySince !== undefined && readySince + minReadySeconds * 1000 <= now;
}

/** A pod that has not ended speaks before one that has, then the newer one. */
function speaksRather(pod: Pod, other: Pod | undefined): boolean {
  if (other === undefined) return true;
  if (isFinished(pod) !== isFinished(other)) return isFinished(other);
  return isNewer(pod, other);
}

function isNewer(pod: Pod, other: Pod | undefined): boolean {
  if (other === undefined) return true;
  return (
    (parseTime(pod.metadata.creationTimestamp) ?? 0) >
    (parseTime(other.metadata.creationTimestamp) ?? 0)
  );
}
