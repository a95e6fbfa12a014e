import { conditionOf, type Pod } from './objects.ts';
import { projectPodForScan } from './projections.ts';

/**
 * A pod for bulk detection, kept as small as it may be. Of a pod that is Ready and stays, nothing
 * but that plays a part: where it runs, who owns it, which revision it is and since when it is
 * Ready. All other pods keep what `projectPodForScan` keeps.
 * @throws KubernetesError when it has no name or uid.
 */
export function projectCompactPod(raw: unknown): Pod {
  const pod = projectPodForScan(raw);
  const ready = conditionOf(pod.status.conditions, 'Ready');
  const covers =
    pod.metadata.deletionTimestamp === undefined &&
    pod.status.phase === 'Running' &&
    ready?.status === 'True';
  if (!covers) return pod;
  const { name, namespace, uid, creationTimestamp, labels, ownerReferences } = pod.metadata;
  const { nodeName } = pod.spec;
  return {
    metadata: {
      name,
      uid,
      ...(namespace === undefined ? {} : { namespace }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(labels === undefined ? {} : { labels }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase: 'Running', conditions: [ready] },
  };
}
