/**
 * kube-controller-manager's taint eviction: a NoExecute taint deletes the pods that do not tolerate
 * it, past every budget. It is here so that a wrongly chosen effect shows up as lost pods.
 */
import { isoTime } from '../../../lib/clock.ts';
import { toleratesTaint } from '../../../lib/gap/tolerations.ts';
import type { Node, Pod } from '../../../lib/kubernetes/objects.ts';
import { isFinished, setCondition } from '../pod-status.ts';
import type { Cancel } from '../timeline.ts';
import type { World } from '../world.ts';

export function startTaintEviction(world: World): void {
  const { store, timeline } = world;
  /** Evictions to come, by pod uid. */
  const sentences = new Map<string, Cancel>();

  const judge = (pod: Pod, node: Node): void => {
    const { uid } = pod.metadata;
    const delayMs = isFinished(pod) ? undefined : evictionDelayMs(pod, node);
    const earlier = sentences.get(uid);
    if (delayMs === undefined) {
      earlier?.();
      sentences.delete(uid);
    } else if (earlier === undefined) {
      const carryOut = () => {
        sentences.delete(uid);
        evict(world, pod);
      };
      sentences.set(uid, timeline.after(delayMs, carryOut));
    }
  };

  store.subscribe((change) => {
    if (change.resource === 'pods') {
      const { object } = change;
      const node = store.get('nodes', object.spec.nodeName ?? '');
      if (change.type === 'removed') {
        sentences.get(object.metadata.uid)?.();
        sentences.delete(object.metadata.uid);
      } else if (node !== undefined) judge(object, node);
    } else if (change.resource === 'nodes' && change.type !== 'removed') {
      if (change.type === 'changed' && change.aspect !== 'spec') return;
      for (const pod of [...store.values('pods')]) {
        if (pod.spec.nodeName === change.object.metadata.name) judge(pod, change.object);
      }
    }
  });
}

/** Milliseconds until the node's NoExecute taints drive the pod out; undefined for never. */
function evictionDelayMs(pod: Pod, node: Node): number | undefined {
  const taints = (node.spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (taints.length === 0) return undefined;
  let shortest: number | undefined;
  for (const taint of taints) {
    // The first toleration in the pod's order is the one that counts.
    const toleration = pod.spec.tolerations?.find((candidate) => toleratesTaint(candidate, taint));
    if (toleration === undefined) return 0;
    const seconds = toleration.tolerationSeconds;
    if (seconds !== undefined) shortest = Math.min(shortest ?? Infinity, Math.max(seconds, 0));
  }
  return shortest === undefined ? undefined : shortest * 1000;
}

function evict(world: World, pod: Pod): void {
  const { store, timeline } = world;
  if (!store.has('pods', pod) || pod.metadata.deletionTimestamp !== undefined) return;
  setCondition(
    pod.status,
    {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    },
    isoTime(timeline.now),
  );
  store.requestDeletion('pods', pod, pod.spec.terminationGracePeriodSeconds ?? 30);
}
