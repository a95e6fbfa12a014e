/**
 * The API server's JSON → the shapes of objects.ts, keeping only what those name: no managedFields,
 * images, environment or volume sources. Pods have two projections: for bulk reads only the labels
 * that tell the revision are kept, for a drain all labels, since PodDisruptionBudgets match by them.
 */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  DaemonSet,
  KubernetesEvent,
  Node,
  NodeClaim,
  ObjectMeta,
  Pod,
  PodDisruptionBudget,
  PodSpec,
  Taint,
  Volume,
} from './objects.ts';
import {
  asObject,
  conditionsOf,
  isText,
  list,
  listOf,
  nodeAffinityOf,
  pick,
  textMap,
  textOf,
} from './project-fields.ts';

const metaKeys = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Labels of a DaemonSet's pod that say which template revision made it. */
const revisionLabels = ['controller-revision-hash', 'pod-template-generation'];

/** As large as the object itself and read by nobody here. */
const droppedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** @throws KubernetesError when it has no name or uid: then it is no Kubernetes object. */
export function projectNode(raw: unknown): Node {
  const node = asObject<Node>(raw, 'node');
  return {
    metadata: projectMeta(node.metadata),
    // Taints stay verbatim, unknown fields included: a patch tests the list against the server's.
    spec: {
      ...pick(node.spec, ['providerID', 'unschedulable']),
      ...list('taints', node.spec?.taints, projectTaint),
    },
    status: {
      ...pick(node.status, ['allocatable', 'capacity']),
      ...conditionsOf(node.status?.conditions),
    },
  };
}

/** @throws KubernetesError when it has no name or uid. */
export function projectDaemonSet(raw: unknown): DaemonSet {
  const daemonSet = asObject<DaemonSet>(raw, 'DaemonSet');
  const template = daemonSet.spec?.template;
  const labels = template?.metadata?.labels;
  return {
    metadata: { ...projectMeta(daemonSet.metadata), namespace: namespaceOf(daemonSet) },
    spec: {
      selector: pick(daemonSet.spec?.selector, ['matchLabels', 'matchExpressions']),
      ...pick(daemonSet.spec, ['minReadySeconds', 'updateStrategy']),
      template: {
        ...(labels ? { metadata: { labels } } : {}),
        spec: projectPodSpec(template?.spec),
      },
    },
    status: pick(daemonSet.status, [
      'observedGeneration',
      'desiredNumberScheduled',
      'currentNumberScheduled',
      'numberReady',
      'numberAvailable',
      'numberUnavailable',
      'numberMisscheduled',
      'updatedNumberScheduled',
    ]),
  };
}

/** A pod whole enough to plan a drain. @throws KubernetesError when it has no name or uid. */
export function projectPod(raw: unknown): Pod {
  const pod = asObject<Pod>(raw, 'pod');
  return {
    metadata: projectMeta(pod.metadata),
    spec: {
      ...projectPodSpec(pod.spec),
      ...list('volumes', pod.spec?.volumes, projectVolume),
    },
    status: projectPodStatus(pod.status),
  };
}

/**
 * A pod for bulk detection: without annotations, volumes, and labels other than the revision's.
 * Not for a drain. @throws KubernetesError when it has no name or uid.
 */
export function projectPodForScan(raw: unknown): Pod {
  const pod = asObject<Pod>(raw, 'pod');
  return {
    metadata: {
      ...projectMetaCore(pod.metadata),
      labels: revisionLabelsOf(pod.metadata.labels),
    },
    spec: projectPodSpec(pod.spec),
    status: projectPodStatus(pod.status),
  };
}

/** Those labels of a pod that say which template revision made it. */
export function revisionLabelsOf(labels: ObjectMeta['labels']): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of revisionLabels) {
    const value = labels?.[name];
    if (value !== undefined) kept[name] = value ?? '';
  }
  return kept;
}

/** @throws KubernetesError when it has no name or uid. */
export function projectPodDisruptionBudget(raw: unknown): PodDisruptionBudget {
  const budget = asObject<PodDisruptionBudget>(raw, 'PodDisruptionBudget');
  const selector = budget.spec?.selector;
  return {
    metadata: projectMeta(budget.metadata),
    spec: {
      // An absent or null selector selects no pod, an empty one all of them.
      ...(selector ? { selector: pick(selector, ['matchLabels', 'matchExpressions']) } : {}),
      ...pick(budget.spec, ['minAvailable', 'maxUnavailable', 'unhealthyPodEvictionPolicy']),
    },
    status: pick(budget.status, [
      'observedGeneration',
      'disruptionsAllowed',
      'currentHealthy',
      'desiredHealthy',
      'expectedPods',
    ]),
  };
}

/** @throws KubernetesError when it has no name or uid. */
export function projectNodeClaim(raw: unknown): NodeClaim {
  const claim = asObject<NodeClaim>(raw, 'NodeClaim');
  return {
    metadata: projectMeta(claim.metadata),
    spec: pick(claim.spec, ['nodeClassRef', 'terminationGracePeriod']),
    status: {
      ...pick(claim.status, ['providerID', 'nodeName']),
      ...conditionsOf(claim.status?.conditions),
    },
  };
}

/**
 * An Event. The scheduler writes the newer form, whose count and time stand in `series` or only in
 * `eventTime`: they are put where the older form has them.
 * @throws KubernetesError when it has no name or uid.
 */
export function projectEvent(raw: unknown): KubernetesEvent {
  type Series = { series?: { count?: number; lastObservedTime?: string } };
  const event = asObject<KubernetesEvent & Series>(raw, 'Event');
  const count = event.count || event.series?.count;
  const lastTimestamp = event.lastTimestamp || event.series?.lastObservedTime;
  return {
    metadata: projectMetaCore(event.metadata),
    involvedObject: pick(event.involvedObject, ['kind', 'namespace', 'name', 'uid']),
    ...pick(event, ['reason', 'message', 'type', 'firstTimestamp', 'eventTime']),
    ...(count ? { count } : {}),
    ...(lastTimestamp ? { lastTimestamp } : {}),
  };
}

/** That of a namespaced object: one that names none is in `default`, as for kubectl. */
function namespaceOf({ metadata }: { metadata: ObjectMeta }): string {
  return metadata.namespace || 'default';
}

function projectMeta(metadata: ObjectMeta): ObjectMeta {
  const projected: ObjectMeta = {
    ...projectMetaCore(metadata),
    ...textMap('labels', metadata.labels),
  };
  if (metadata.annotations) {
    const { [droppedAnnotation]: _dropped, ...annotations } = metadata.annotations;
    Object.assign(projected, textMap('annotations', annotations));
  }
  return projected;
}

/** Without labels and annotations. */
export function projectMetaCore(metadata: ObjectMeta): ObjectMeta {
  const projected: ObjectMeta = {
    ...pick(metadata, metaKeys),
    ...listOf('ownerReferences', metadata.ownerReferences),
    ...list('finalizers', metadata.finalizers, textOf),
  };
  // An empty time is none, and being deleted is told by there being one.
  if (projected.deletionTimestamp === '') delete projected.deletionTimestamp;
  return projected;
}

/** A taint to the letter, or with the empty key that matches no toleration's key. */
function projectTaint(taint: Taint): Taint {
  return isText(taint.key) && isText(taint.effect)
    ? taint
    : { ...taint, key: taint.key ?? '', effect: taint.effect ?? '' };
}

function projectPodSpec(spec: PodSpec | undefined): PodSpec {
  const affinity = spec?.affinity?.nodeAffinity;
  return {
    ...pick(spec, [
      'nodeName',
      'hostNetwork',
      'priorityClassName',
      'priority',
      'schedulerName',
      'terminationGracePeriodSeconds',
    ]),
    ...textMap('nodeSelector', spec?.nodeSelector),
    ...listOf('tolerations', spec?.tolerations),
    ...listOf('readinessGates', spec?.readinessGates),
    ...listOf('schedulingGates', spec?.schedulingGates),
    ...(affinity ? { affinity: { nodeAffinity: nodeAffinityOf(affinity) } } : {}),
    ...list('containers', spec?.containers, projectContainer),
    ...list('initContainers', spec?.initContainers, projectContainer),
  };
}

function projectContainer(container: Container): Container {
  return {
    ...pick(container, ['name', 'image', 'restartPolicy']),
    ...listOf('ports', container.ports),
    ...(container.resources
      ? { resources: pick(container.resources, ['requests', 'limits']) }
      : {}),
  };
}

function projectVolume(volume: Volume): Volume {
  const claim = volume.persistentVolumeClaim;
  return {
    ...pick(volume, ['name', 'emptyDir']),
    ...(volume.ephemeral ? { ephemeral: {} } : {}),
    ...(claim ? { persistentVolumeClaim: pick(claim, ['claimName']) } : {}),
  };
}

function projectPodStatus(status: Pod['status'] | undefined): Pod['status'] {
  return {
    ...pick(status, ['phase', 'reason', 'message', 'startTime', 'nominatedNodeName']),
    ...conditionsOf(status?.conditions),
    ...list('containerStatuses', status?.containerStatuses, projectContainerStatus),
    ...list('initContainerStatuses', status?.initContainerStatuses, projectContainerStatus),
  };
}

function projectContainerStatus(status: ContainerStatus): ContainerStatus {
  return {
    ...pick(status, ['image', 'imageID', 'ready', 'started', 'restartCount']),
    name: status.name || '(unnamed)',
    ...(status.state ? { state: projectContainerState(status.state) } : {}),
    ...(status.lastState ? { lastState: projectContainerState(status.lastState) } : {}),
  };
}

function projectContainerState(state: ContainerState): ContainerState {
  const { waiting, running, terminated } = state;
  return {
    ...(waiting ? { waiting: pick(waiting, ['reason', 'message']) } : {}),
    ...(running ? { running: pick(running, ['startedAt']) } : {}),
    ...(terminated
      ? {
          terminated: pick(terminated, [
            'exitCode',
            'signal',
            'reason',
            'message',
            'startedAt',
            'finishedAt',
          ]),
        }
      : {}),
  };
}
