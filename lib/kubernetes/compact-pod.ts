/**
 * A pod for bulk detection, kept as small as it may be: of 50,000 pods nearly all are Ready and stay,
 * and of those nothing plays a part but where they run, who owns them, which revision and images
 * they have, and since when they are Ready.
 */
import { isDeepStrictEqual } from 'node:util';
import { conditionOf, type OwnerReference, type Pod, type PodSpec } from './objects.ts';
import { projectPodForScan } from './projections.ts';

type Images = Pick<NonNullable<PodSpec['containers']>[number], 'name' | 'image'>[];

/**
 * A projection for the pods of one list; pods of one revision share what they have in common. A pod
 * that is not Ready, or is being deleted, keeps what `projectPodForScan` keeps.
 * @throws KubernetesError when a pod has no name or uid.
 */
export function compactPods(): (raw: unknown) => Pod {
  const nodeNames = new Map<string, string>();
  const owners = new Map<string, OwnerReference[]>();
  const revisions = new Map<string, { labels: Record<string, string>; containers: Images }>();

  return (raw) => {
    const pod = projectPodForScan(raw);
    const ready = conditionOf(pod.status.conditions, 'Ready');
    if (!covers(pod.metadata, pod.status)) return pod;
    const { name, namespace, uid, creationTimestamp, labels = {}, ownerReferences } = pod.metadata;
    const { nodeName } = pod.spec;
    const containers = (pod.spec.containers ?? []).map(({ name: of, image }) => ({
      name: of,
      ...(image === undefined ? {} : { image }),
    }));
    const owner = ownerReferences?.[0]?.uid ?? '';
    const revision = `${owner} ${labels['controller-revision-hash']}`;
    const shared = sharing(revisions, revision, { labels, containers });
    return {
      metadata: {
        name,
        uid,
        ...(namespace === undefined ? {} : { namespace }),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
        labels: shared.labels,
        ...(ownerReferences === undefined
          ? {}
          : { ownerReferences: sharing(owners, owner, ownerReferences) }),
      },
      spec: {
        ...(nodeName === undefined ? {} : { nodeName: sharing(nodeNames, nodeName, nodeName) }),
        containers: shared.containers,
      },
      status: { phase: 'Running', conditions: ready === undefined ? [] : [ready] },
    };
  };
}

/** Whether a pod covers its node and stays: then little of it is kept. */
export function covers(metadata: Pod['metadata'], status: Pod['status']): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    status.phase === 'Running' &&
    conditionOf(status.conditions, 'Ready')?.status === 'True'
  );
}

/** The known value of that key when it is the same, so that only one of them is held. */
function sharing<T>(known: Map<string, T>, key: string, value: T): T {
  const shared = known.get(key);
  if (shared !== undefined && isDeepStrictEqual(shared, value)) return shared;
  known.set(key, value);
  return value;
}
