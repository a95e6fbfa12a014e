/**
 * What the audit and the generator of startup taints are told: objects as somebody wrote them, with
 * the place where each stands. A live cluster, a dump and a folder of manifests all end up as this.
 */
import type {
  Container,
  DaemonSet,
  Node,
  ObjectMeta,
  PodSpec,
  Taint,
  Toleration,
  Volume,
} from '../kubernetes/objects.ts';

/** Where an object was read. Lines begin at 1. */
export type Origin =
  | { kind: 'cluster' }
  | { kind: 'file'; file: string; line: number }
  /** An API of AWS, by its name: `eks`, `ec2`. */
  | { kind: 'aws'; service: string };

export interface Found<T> {
  object: T;
  origin: Origin;
}

/** A kind of object that was read completely, or why nothing can be said of it. */
export type Reading<T> =
  | { kind: 'read'; items: Found<T>[] }
  | { kind: 'not-checked'; reason: string };

export interface Probe {
  httpGet?: Record<string, unknown>;
  exec?: Record<string, unknown>;
  tcpSocket?: Record<string, unknown>;
  grpc?: Record<string, unknown>;
}

/** A reference of a pod to a ConfigMap or a Secret. Without a key: the whole object. */
export interface InputReference {
  kind: 'ConfigMap' | 'Secret';
  name: string;
  key?: string;
  optional: boolean;
  /** Where in the pod template it is written: `containers[0].env[2]`, `volumes[1]`. */
  at: string;
}

export interface WrittenContainer extends Container {
  command?: string[];
  args?: string[];
  /** Only the variables of `isAgentVariable` (agents.ts): others may hold secrets. */
  env?: { name: string; value?: string }[];
  readinessProbe?: Probe;
  startupProbe?: Probe;
  livenessProbe?: Probe;
}

export interface WrittenPodSpec extends PodSpec {
  containers?: WrittenContainer[];
  initContainers?: WrittenContainer[];
  serviceAccountName?: string;
  imagePullSecrets?: { name: string }[];
  /** With `hostPath` kept: two pods of one node may then write to the same place. */
  volumes?: (Volume & { hostPath?: { path?: string } })[];
}

/** A DaemonSet with everything of its template that the audit looks at. */
export interface WrittenDaemonSet extends DaemonSet {
  spec: DaemonSet['spec'] & {
    template: { metadata?: ObjectMetaOfTemplate; spec: WrittenPodSpec };
  };
  /** ConfigMaps and Secrets that its pods are made of. */
  inputs: InputReference[];
}

export interface ObjectMetaOfTemplate {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** karpenter.sh/v1 NodePool. */
export interface NodePool {
  metadata: ObjectMeta;
  spec: {
    template: {
      metadata?: ObjectMetaOfTemplate;
      spec: {
        taints?: Taint[];
        startupTaints?: Taint[];
        nodeClassRef?: { group?: string; kind?: string; name?: string };
        requirements?: { key: string; operator: string; values?: string[] }[];
      };
    };
  };
}

/** karpenter.k8s.aws/v1 EC2NodeClass, or an EKS NodeClass. */
export interface NodeClass {
  metadata: ObjectMeta;
  kind: string;
  spec: { amiFamily?: string; amiSelectorTerms?: { alias?: string }[]; userData?: string };
}

/** A managed node group of EKS. Its taints are put back only on new nodes. */
export interface WrittenNodeGroup {
  name: string;
  labels: Record<string, string>;
  taints: Taint[];
  launchTemplate?: { id: string; version: string };
}

/** A version of a launch template, with its user data decoded. */
export interface LaunchTemplate {
  id: string;
  name: string;
  version: string;
  userData?: string;
}

/** Something whose pods a scheduler places: Deployment, StatefulSet, ReplicaSet without owner, … */
export interface Workload {
  kind: string;
  metadata: ObjectMeta;
  replicas?: number;
  tolerations: Toleration[];
  /** Those of its pods. Absent where they were not kept: then nobody can tell its settings. */
  containers?: WrittenContainer[];
}

/** A ConfigMap or Secret by the names of its keys: values are never kept, but for `settings`. */
export interface KeyedObject {
  namespace: string;
  name: string;
  keys: string[];
  /** Of a ConfigMap: the values of the keys of `isAgentSetting` (agents.ts), which are no secrets. */
  settings?: Record<string, string>;
}

export interface ServiceAccount {
  namespace: string;
  name: string;
  imagePullSecrets: string[];
}

/** What the containers of one DaemonSet pod use now, as metrics.k8s.io tells it. */
export interface PodUsage {
  namespace: string;
  pod: string;
  /** `namespace/name` of the DaemonSet. */
  daemonSet: string;
  node: string;
  containers: { name: string; memoryBytes: number; cpuCores: number }[];
}

export interface PriorityClass {
  metadata: ObjectMeta;
  value: number;
}

export interface PreventionFacts {
  source: 'cluster' | 'dump' | 'manifests';
  cluster: string;
  /** Epoch ms. */
  readAt: number;
  daemonSets: Found<WrittenDaemonSet>[];
  nodes: Reading<Node>;
  nodePools: Reading<NodePool>;
  nodeClasses: Reading<NodeClass>;
  nodeGroups: Reading<WrittenNodeGroup>;
  launchTemplates: Reading<LaunchTemplate>;
  priorityClasses: Reading<PriorityClass>;
  /** Deployments too: they tell which agents can remove their own taint. */
  workloads: Reading<Workload>;
  configMaps: Reading<KeyedObject>;
  secrets: Reading<KeyedObject>;
  serviceAccounts: Reading<ServiceAccount>;
  usage: Reading<PodUsage>;
}
