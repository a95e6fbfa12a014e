/**
 * A pod for bulk detection, kept as small as it may be: of 50,000 pods nearly all are Ready and stay,
 * and of those nothing plays a part but where they run, who owns them, which revision and images
 * they have, and since when they are Ready. What pods have in common is held once.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Condition, conditionOf, type ObjectMeta, type Pod, type PodSpec } from './objects.ts';
import { projectPodForScan, revisionLabelsOf } from './projections.ts';

/** A pod that covers its node and stays, of which little is kept. */
export class CompactPod implements Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly status: Pod['status'];

  constructor(metadata: ObjectMeta, spec: PodSpec, status: Pod['status']) {
    this.metadata = metadata;
    this.spec = spec;
    this.status = status;
  }
}

/**
 * A projection for the pods of one list. A pod that is not Ready, or is being deleted, keeps what
 * `projectPodForScan` keeps.
 * @throws KubernetesError when a pod has no name or uid.
 */
export function compactPods(): (raw: unknown) => Pod {
  const compact = compactor();
  return (raw) => {
    if (raw instanceof CompactPod) return raw;
    const pod = projectPodForScan(raw);
    return covers(pod.metadata, pod.status) ? compact(pod) : pod;
  };
}

type Containers = NonNullable<PodSpec['containers']>;
type OwnerReferences = NonNullable<ObjectMeta['ownerReferences']>;

/** Makes pods compact, sharing among them what they have in common. */
export function compactor(): (pod: Pod) => CompactPod {
  const nodeNames = new Map<string, string>();
  const owners = new Map<string, OwnerReferences>();
  const labelSets = new Map<string, Record<string, string>>();
  const containerSets = new Map<string, Containers>();
  const statuses = new Map<string, Pod['status']>();
  return ({ metadata, spec, status }) => {
    const { name, namespace, uid, creationTimestamp, ownerReferences } = metadata;
    const { nodeName, containers = [] } = spec;
    const labels = revisionLabelsOf(metadata.labels);
    const owner = ownerReferences?.[0]?.uid ?? '';
    const ready = conditionOf(status.conditions, 'Ready');
    return new CompactPod(
      {
        name,
        uid,
        ...(namespace === undefined ? {} : { namespace }),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
        labels: shared(labelSets, Object.entries(labels).join(' '), labels, () => true),
        ...(ownerReferences === undefined
          ? {}
          : { ownerReferences: shared(owners, owner, ownerReferences, isDeepStrictEqual) }),
      },
      {
        ...(nodeName === undefined
          ? {}
          : { nodeName: shared(nodeNames, nodeName, nodeName, () => true) }),
        containers: shared(containerSets, owner, glanceAt(containers), areSame),
      },
      shared(statuses, ready?.lastTransitionTime ?? '', statusOf(ready), isDeepStrictEqual),
    );
  };
}

/** Whether a pod covers its node and stays: then little of it is kept. */
export function covers(
  metadata: Pick<ObjectMeta, 'deletionTimestamp'>,
  status: Pod['status'],
): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    status.phase === 'Running' &&
    conditionOf(status.conditions, 'Ready')?.status === 'True'
  );
}

function glanceAt(containers: Containers): Containers {
  return containers.map(({ name, image }) => ({ name, ...(image === undefined ? {} : { image }) }));
}

function areSame(a: Containers, b: Containers): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, image }, index) => b[index]?.name === name && b[index].image === image)
  );
}

function statusOf(ready: Condition | undefined): Pod['status'] {
  return { phase: 'Running', conditions: ready === undefined ? [] : [ready] };
}

const maxShared = 20_000;

/** The known value of that key when it is the same, so that only one of them is held. */
function shared<T>(known: Map<string, T>, key: string, value: T, same: (a: T, b: T) => boolean): T {
  const before = known.get(key);
  if (before !== undefined && (before === value || same(before, value))) return before;
  // Who follows a cluster for days sees ever new values.
  if (known.size >= maxShared) known.clear();
  known.set(key, value);
  return value;
}
