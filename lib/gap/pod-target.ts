/** Which DaemonSet a pod belongs to, and which node it is for. */
import type { Pod } from '../kubernetes/objects.ts';

/**
 * Uid of the DaemonSet that controls the pod. Only the controller reference counts, never a name or
 * label: a DaemonSet made again under the same name does not own the old one's pods.
 */
export function daemonSetUidOf(pod: Pod): string | undefined {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === 'DaemonSet' && owner.apiVersion === 'apps/v1' ? owner.uid : undefined;
}

/**
 * The node that the pod is on, or is for while it is not scheduled: the controller pins each pod by
 * a `metadata.name` field term. Undefined when the pod names no single node
 * (k8s.io/kubernetes pkg/controller/daemon/util GetTargetNodeName).
 */
export function targetNodeOf(pod: Pod): string | undefined {
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? [];
  for (const term of terms) {
    for (const { key, operator, values } of term.matchFields ?? []) {
      if (key === 'metadata.name' && operator === 'In') {
        return values?.length === 1 ? values[0] : undefined;
      }
    }
  }
  return undefined;
}
