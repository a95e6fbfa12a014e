/** Whether the pod of a (node, DaemonSet) pair is Ready, over time. Pure. */
import { conditionOf, type Pod } from '../../lib/kubernetes/objects.ts';
import { pairOf } from '../../test/e2e/harness/faults.ts';
import type { Stamped } from './recording.ts';

export function isReadyPod({ status }: Pod): boolean {
  return conditionOf(status.conditions, 'Ready')?.status === 'True';
}

/** Name of the DaemonSet whose pod this is, and the node, once it is on one. */
export function pairOfPod(pod: Pod): { node: string; daemonSet: string } | undefined {
  const { namespace = '', name, uid, ownerReferences } = pod.metadata;
  const owners = (ownerReferences ?? []).map(({ kind, name: owner, controller }) => ({
    kind,
    name: owner,
    ...(controller === undefined ? {} : { controller }),
  }));
  const { nodeName } = pod.spec;
  const pair = pairOf({
    metadata: { name, namespace, uid, ownerReferences: owners },
    spec: nodeName === undefined ? {} : { nodeName },
  });
  return pair && { node: pair.node, daemonSet: pair.daemonSet.split('/')[1] ?? '' };
}

/** Each moment (epoch ms) at which the pair became Ready or ceased to be, oldest first. */
export function readiness(
  pods: readonly Stamped<Pod>[],
  node: string,
  daemonSet: string,
): { at: number; ready: boolean }[] {
  const ready = new Set<string>();
  const moments: { at: number; ready: boolean }[] = [];
  for (const { type, at, object } of pods) {
    const pair = pairOfPod(object);
    if (pair?.node !== node || pair.daemonSet !== daemonSet) continue;
    const isUp = type !== 'DELETED' && isReadyPod(object);
    if (isUp) ready.add(object.metadata.uid);
    else ready.delete(object.metadata.uid);
    const now = ready.size > 0;
    if (moments.at(-1)?.ready !== now) moments.push({ at, ready: now });
  }
  return moments;
}

/** The first moment from which all these DaemonSets were Ready on the node at once. */
export function allReadyAt(
  pods: readonly Stamped<Pod>[],
  node: string,
  names: readonly string[],
): number | undefined {
  const each = names.map((name) => readiness(pods, node, name));
  const moments = [...new Set(each.flat().map(({ at }) => at))].sort((a, b) => a - b);
  return moments.find((moment) =>
    each.every((pair) => pair.findLast(({ at }) => at <= moment)?.ready === true),
  );
}
