/** What a test does to a pair of node and DaemonSet, and the traces that nodegap leaves on objects. */
import {
  conditionOf,
  type Node,
  type NodeClaim,
  type Pod,
  type Taint,
} from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import type { FaultOptions, Outcome, Pair } from '../harness/faults.ts';
import { isReady, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { Change } from './recorder.ts';

/** Breaks the pods of a DaemonSet on one node, and waits until it shows. */
export async function breakPod(
  cluster: ControlPlane,
  pair: Pair,
  outcome: Outcome,
  options: FaultOptions = {},
): Promise<void> {
  await cluster.injector.set(pair, outcome, options);
  await waitFor(async () => (await podsOf(cluster.client(), pair)).every((pod) => !isReady(pod)), {
    timeout: 180_000,
    what: `${pair.daemonSet} on ${pair.node} not to be Ready`,
  });
}

/** A pod of the DaemonSet becomes Ready on another node, from now on: the witness. */
export async function restartPod(cluster: ControlPlane, pair: Pair): Promise<void> {
  const [before] = await podsOf(cluster.client(), pair);
  const [namespace = '', name = ''] = [pair.daemonSet.split('/')[0], before?.metadata.name];
  await cluster.kubectl(['delete', 'pod', '-n', namespace, name]);
  await waitFor(
    async () => {
      const [pod] = await podsOf(cluster.client(), pair);
      return pod !== undefined && pod.metadata.uid !== before?.metadata.uid && isReady(pod);
    },
    { timeout: 180_000, what: `a new pod of ${pair.daemonSet} on ${pair.node}` },
  );
}

export const ownTaint: Taint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };

export function hasOwnTaint({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === ownTaint.key) === true;
}

/** What nodegap wrote on the node about what it did. */
export function markOf({ metadata }: Node): Record<string, unknown> | undefined {
  const text = metadata.annotations?.['nodegap.dev/isolation'];
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
}

/** What nodegap, or anybody, may have done to a node. Its status is the kubelet's. */
export function shapeOf({ metadata, spec }: Node) {
  const { uid, labels, annotations } = metadata;
  return { uid, labels, annotations, spec };
}

/** Of all moments, the lowest number of pods that were Ready and not on their way out. */
export function lowestAvailability(changes: readonly Change<Pod>[], apps: string[]): number {
  const present = new Map<string, Pod>();
  let lowest = Number.POSITIVE_INFINITY;
  // The first changes are the pods that were there: availability counts once they are all known.
  const initial = changes.findIndex(({ type }) => type !== 'ADDED');
  for (const [index, { type, object }] of changes.entries()) {
    if (!apps.includes(object.metadata.labels?.app ?? '')) continue;
    if (type === 'DELETED') present.delete(object.metadata.uid);
    else present.set(object.metadata.uid, object);
    if (index < initial) continue;
    const available = [...present.values()].filter(
      (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined,
    );
    lowest = Math.min(lowest, available.length);
  }
  return lowest;
}

/** When somebody asked for the deletion of the object, by the revision of the cluster. */
export function deletionAsked(
  changes: readonly Change<Pod | NodeClaim>[],
  uid: string,
): number | undefined {
  return changes.find(
    ({ object }) => object.metadata.uid === uid && object.metadata.deletionTimestamp !== undefined,
  )?.revision;
}

/** When the object was gone. */
export function goneAt(changes: readonly Change<Pod>[], uid: string): number | undefined {
  return changes.find(({ type, object }) => type === 'DELETED' && object.metadata.uid === uid)
    ?.revision;
}

/** Why a pod was taken away, in the word that the API server writes on it. */
export function disruptionOf(changes: readonly Change<Pod>[], uid: string): string | undefined {
  const last = changes.findLast(({ object }) => object.metadata.uid === uid);
  return conditionOf(last?.object.status.conditions, 'DisruptionTarget')?.reason;
}
