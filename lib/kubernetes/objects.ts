/**
 * The few Kubernetes object shapes that nodegap reads, as the API server's JSON has them
 * (timestamps are strings, fields absent when zero). Names follow k8s.io/api.
 */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

/** A condition of a Node, Pod or NodeClaim. */
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastHeartbeatTime?: string;
}

export interface Node {
  metadata: ObjectMeta;
  spec: { providerID?: string; unschedulable?: boolean; taints?: Taint[] };
  status: {
    conditions?: Condition[];
    allocatable?: Record<string, string>;
    capacity?: Record<string, string>;
  };
}

export interface NodeSelectorRequirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: NodeSelectorTerm[] };
}

export interface ContainerPort {
  containerPort?: number;
  hostPort?: number;
  hostIP?: string;
  protocol?: string;
}

export interface Container {
  name: string;
  image?: string;
  /** `Always` on an init container makes it a sidecar. */
  restartPolicy?: string;
  ports?: ContainerPort[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

export interface Volume {
  name: string;
  emptyDir?: Record<string, unknown>;
  persistentVolumeClaim?: { claimName: string };
  /** A claim made for this pod alone, named after pod and volume. */
  ephemeral?: Record<string, unknown>;
}

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: { nodeAffinity?: NodeAffinity };
  tolerations?: Toleration[];
  hostNetwork?: boolean;
  priorityClassName?: string;
  priority?: number;
  schedulerName?: string;
  terminationGracePeriodSeconds?: number;
  containers?: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  readinessGates?: { conditionType: string }[];
  schedulingGates?: { name: string }[];
}

export interface ContainerStateTerminated {
  exitCode?: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: ContainerStateTerminated;
}

export interface ContainerStatus {
  name: string;
  image?: string;
  imageID?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface Pod {
  metadata: ObjectMeta;
  spec: PodSpec;
  status: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    nominatedNodeName?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

export interface LabelSelectorRequirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface DaemonSet {
  metadata: ObjectMeta;
  spec: {
    selector: LabelSelector;
    minReadySeconds?: number;
    updateStrategy?: {
      type?: string;
      rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string };
    };
    template: { metadata?: { labels?: Record<string, string> }; spec: PodSpec };
  };
  status: {
    observedGeneration?: number;
    desiredNumberScheduled?: number;
    currentNumberScheduled?: number;
    numberReady?: number;
    numberAvailable?: number;
    numberUnavailable?: number;
    numberMisscheduled?: number;
    updatedNumberScheduled?: number;
  };
}

/** A core/v1 Event. */
export interface KubernetesEvent {
  metadata: ObjectMeta;
  involvedObject: { kind?: string; namespace?: string; name?: string; uid?: string };
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  eventTime?: string;
}

export interface PodDisruptionBudget {
  metadata: ObjectMeta;
  spec: {
    selector?: LabelSelector | null;
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    unhealthyPodEvictionPolicy?: string;
  };
  status: {
    observedGeneration?: number;
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    expectedPods?: number;
  };
}

/** storage.k8s.io/v1: a volume that is attached to a node, or is to be. */
export interface VolumeAttachment {
  metadata: ObjectMeta;
  spec: { attacher?: string; nodeName: string; source: { persistentVolumeName?: string } };
}

export interface PersistentVolumeClaim {
  metadata: ObjectMeta;
  spec: { volumeName?: string };
}

/** karpenter.sh/v1 NodeClaim. */
export interface NodeClaim {
  metadata: ObjectMeta;
  spec: {
    nodeClassRef?: { group?: string; kind?: string; name?: string };
    terminationGracePeriod?: string;
  };
  status: { providerID?: string; nodeName?: string; conditions?: Condition[] };
}

/** `namespace/name`, or the bare name of a cluster-scoped object. */
export function keyOf(object: { metadata: ObjectMeta }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The condition of that type, if there is one. Order is not fixed, so match by type. */
export function conditionOf(
  conditions: Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
