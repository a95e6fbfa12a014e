/**
 * The ports of the domain: everything outside that it talks to. Adapters for AWS live in lib/aws,
 * those for a single Kubernetes cluster in lib/kubernetes, those for demo and tests in local/.
 */
import type { ClusterFacts } from './gap/model.ts';
import type { AccessReviewer } from './kubernetes/access-review.ts';
import type {
  DaemonSet,
  KubernetesEvent,
  Node,
  NodeClaim,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  VolumeAttachment,
} from './kubernetes/objects.ts';
import type { WholeReads } from './kubernetes/whole-reads.ts';
import type { LeaseReading, ListEventsAbout, Remediation } from './observation-ports.ts';

export type { EvidenceStore } from './evidence/document.ts';
export type { AdmissionInput, AdmissionWorkflow } from './prevention/admit/workflow.ts';

/** One JSON Patch operation (RFC 6902). */
export type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/** The names that identify one pod for good: a name alone may be reused. */
export interface PodRef {
  namespace: string;
  name: string;
  uid: string;
}

/** How the API server answered one eviction. Every other answer is thrown as a KubernetesError. */
export type EvictionOutcome =
  | { kind: 'accepted' }
  | { kind: 'gone' }
  /** 429 by a PodDisruptionBudget: may free itself. */
  | { kind: 'blocked-by-budget'; message: string }
  /** 500 because several budgets select the pod: permanent until a person mends them. */
  | { kind: 'several-budgets'; message: string }
  /** An admission webhook or policy says no, to this pod alone: until somebody changes it. */
  | { kind: 'denied'; message: string }
  /** Someone else is at it, or the answer leaves open what happened: look again. */
  | { kind: 'retry'; message: string };

/** A Kubernetes Event to write about a node. */
export interface NodeEvent {
  node: string;
  nodeUid: string;
  type: 'Normal' | 'Warning';
  /** CamelCase, for example `NodegapIsolated`. */
  reason: string;
  message: string;
  /** Events of one series and reason are one, with the last message and a count. */
  series?: string;
}

/** What was asked of an API server, counted since its reader was made. */
export interface ApiLoad {
  /** Requests sent, repeats included. */
  requests: number;
  /** Answers that asked to come back later (429). */
  throttled: number;
  /** Body bytes as they came over the wire. */
  bytesReceived: number;
  /** Body bytes after decompression. */
  bytesDecoded: number;
  /** What the server's clock showed with its last answer: epoch ms, in whole seconds. */
  serverTime?: number;
}

/** Reads of one cluster. Lists are complete or they throw; a missing single object is undefined. */
export interface ClusterReader {
  listNodes(): Promise<Node[]>;
  /** As `listNodes`, with the state of the cluster that it shows, where the reader tells it. */
  listNodesAt?(): Promise<{ items: Node[]; resourceVersion: string }>;
  /** Without those that Karpenter has initialised. Absent where the reader cannot select. */
  listUninitialisedNodes?(): Promise<Node[]>;
  listDaemonSets(): Promise<DaemonSet[]>;
  /** Pods that a controller revision made (DaemonSet and StatefulSet pods), projected. */
  listDaemonSetPods(): Promise<Pod[]>;
  /** All pods of one node, whole enough to plan a drain, read consistently. */
  listPodsOnNode(node: string): Promise<Pod[]>;
  /** Pods with phase Pending and no node, of the whole cluster. */
  listUnscheduledPods(): Promise<Pod[]>;
  /** Events about the object with that uid. */
  listEventsOf(uid: string): Promise<KubernetesEvent[]>;
  listEventsAbout?: ListEventsAbout;
  listPodDisruptionBudgets(): Promise<PodDisruptionBudget[]>;
  /** Of all nodes: the API server cannot select them by node. */
  listVolumeAttachments(): Promise<VolumeAttachment[]>;
  /** Undefined when the cluster does not serve karpenter.sh/v1. */
  listNodeClaims(): Promise<NodeClaim[] | undefined>;
  getNode(name: string): Promise<Node | undefined>;
  getPod(namespace: string, name: string): Promise<Pod | undefined>;
  getPersistentVolumeClaim(
    namespace: string,
    name: string,
  ): Promise<PersistentVolumeClaim | undefined>;
  getNodeClaim(name: string): Promise<NodeClaim | undefined>;
  /** Absent where nothing is gained by them. */
  readonly quick?: QuickReads;
  /** Objects as the server has them; without it evidence holds what the reads above keep. */
  readonly whole?: WholeReads;
  /** The lease by which the kubelet of a node shows that it lives; absent where none can be read. */
  getNodeLease?(node: string): Promise<LeaseReading>;
  /** Nodes that medik8s remediates now; none without it. Absent where it cannot be asked. */
  listRemediations?(): Promise<Remediation[]>;
  /** Absent where nothing is asked of an API server. */
  readonly load?: Readonly<ApiLoad>;
}

/** A pod as the API server shows it in a table: what `kubectl get pods -o wide` prints. */
export interface PodRow {
  name: string;
  /** Ready containers of all, for example `2/2`. */
  ready: string;
  status: string;
  /** Undefined when it is on no node yet. */
  node: string | undefined;
  /** Conditions of readiness gates that hold, for example `0/1`; `<none>` without gates. */
  readinessGates: string;
}

/** Reads of a part, for a scan that does not read every pod in full. Complete or they throw. */
export interface QuickReads {
  /** Pods of one namespace that a DaemonSet made. Undefined when the server shows no tables. */
  tabulateDaemonSetPods(namespace: string): Promise<PodRow[] | undefined>;
  /** As `listDaemonSetPods`, of one node. */
  listDaemonSetPodsOnNode(node: string): Promise<Pod[]>;
  /** As `listDaemonSetPods`, those on no node yet. */
  listUnscheduledDaemonSetPods(): Promise<Pod[]>;
  /** As `listDaemonSetPods`, those that the selector of the DaemonSet matches. */
  listPodsOf(daemonSet: DaemonSet): Promise<Pod[]>;
  /** Whether such a pod carries another template revision than this one. */
  hasOtherRevision(daemonSet: DaemonSet, revision: string): Promise<boolean>;
}

/** Changes to one cluster. */
export interface ClusterWriter extends AccessReviewer {
  /** One atomic JSON Patch of a node. A stale `test` or resourceVersion throws kind `conflict`. */
  patchNode(name: string, patch: JsonPatchOperation[]): Promise<Node>;
  /** Evicts through the eviction API, with the uid as precondition. */
  evictPod(pod: PodRef): Promise<EvictionOutcome>;
  /**
   * Asks for the deletion of exactly this pod as it was read, past every budget. A grace of 0 is
   * refused: it removes the pod without its kubelet.
   */
  deletePod(
    pod: PodRef & { resourceVersion: string },
    graceSeconds: number,
  ): Promise<'accepted' | 'gone' | 'changed'>;
  /** Asks for the deletion of exactly this NodeClaim. False when it is gone already. */
  deleteNodeClaim(name: string, uid: string): Promise<boolean>;
  createNodeEvent(event: NodeEvent): Promise<void>;
}

/** Opens clusters by the name that the configuration gives them. */
export interface Clusters<Client = ClusterReader & ClusterWriter> {
  connect(cluster: string): Promise<Client>;
}

/** Reads a cluster once, completely, or throws. */
export type ReadClusterFacts = (cluster: string) => Promise<ClusterFacts>;

// ── state table ────────────────────────────────────────────────────────────────────────────────

export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | Set<string>
  | AttributeValue[]
  | { [name: string]: AttributeValue };

/** `pk` and `sk` are the table's key; `ttl` (epoch seconds) lets an item expire. */
export interface ItemKey {
  pk: string;
  sk: string;
}
export type Item = ItemKey & { [name: string]: AttributeValue };

/** A condition on one item, in a form that every adapter can evaluate. */
export type Condition =
  | { kind: 'absent' }
  | { kind: 'present' }
  | { kind: 'attribute-absent'; attribute: string }
  | { kind: 'equals'; attribute: string; value: string | number | boolean }
  | { kind: 'less-than'; attribute: string; value: number }
  | { kind: 'set-contains'; attribute: string; member: string }
  /** True when the set has fewer members, or is not there and `limit` is above 0. */
  | { kind: 'set-smaller-than'; attribute: string; limit: number }
  | { kind: 'any'; of: Condition[] }
  | { kind: 'all'; of: Condition[] };

export type Write =
  | { kind: 'put'; item: Item; condition?: Condition }
  | { kind: 'delete'; key: ItemKey; condition?: Condition }
  | { kind: 'check'; key: ItemKey; condition: Condition }
  | {
      kind: 'update';
      key: ItemKey;
      set?: Record<string, AttributeValue>;
      remove?: string[];
      increment?: Record<string, number>;
      addToSet?: Record<string, string[]>;
      removeFromSet?: Record<string, string[]>;
      condition?: Condition;
    };

export type TransactOutcome =
  | { kind: 'committed' }
  /** The first write whose condition failed, by its index, with the item as it stood. */
  | { kind: 'condition-failed'; index: number; item: Item | undefined };

/** Reads are strongly consistent. A transaction conflict is retried inside, never a failed condition. */
export interface StateTable {
  get(key: ItemKey): Promise<Item | undefined>;
  /** All items of a partition whose sort key begins with `prefix`, in sort-key order. */
  query(pk: string, prefix: string): Promise<Item[]>;
  /**
   * All writes or none. `token` makes a lost answer harmless: the same token with the same writes
   * is carried out once.
   */
  transact(writes: Write[], token?: string): Promise<TransactOutcome>;
}

// ── workflow, messages, events ─────────────────────────────────────────────────────────────────

/** The whole input of a `remediate-node` execution: everything else is read. */
export interface AttemptInput {
  cluster: string;
  node: string;
  nodeUid: string;
  episode: number;
  attempt: number;
}

export type ExecutionStatus =
  | { kind: 'running' }
  | { kind: 'ended'; endedAt: number; status: string }
  | { kind: 'not-found' };

/** Step Functions, or the local runner. */
export interface Workflow {
  /** Starts under a fixed name. An execution of that name that exists already is no error. */
  start(cluster: string, name: string, input: AttemptInput): Promise<'started' | 'exists'>;
  status(executionArn: string): Promise<ExecutionStatus>;
  /** The state that the execution entered last; absent where nothing can tell. */
  stateOf?(executionArn: string): Promise<string | undefined>;
  /** Answers a waiting task. False when the task no longer waits. */
  answer(taskToken: string, output: Record<string, unknown>): Promise<boolean>;
}

/** What a message to people is: docs/notifications.md shows each. */
export type NoticeKind = 'alert' | 'approval' | 'report' | 'breaker';
/** `info` is for the record, `warning` wants a look in working hours, `critical` wakes somebody. */
export type NoticeSeverity = 'info' | 'warning' | 'critical';

/** A message to people. Made by lib/report/notices alone. */
export interface Notice {
  /** One line of ASCII below 100 characters: the same for everything that is told of one thing. */
  subject: string;
  /** Its first line alone tells what happened. */
  body: string;
  kind: NoticeKind;
  severity: NoticeSeverity;
  /** Stable id of what it is about, an episode for example. */
  thread: string;
  cluster: string;
  node?: string;
  pool?: string;
  episode?: number;
  /** `true` when nobody has answered a question for long. */
  escalation?: string;
}

export interface Notifier {
  notify(notice: Notice): Promise<void>;
}

/** An event on the nodegap bus, source `nodegap`. */
export interface BusEvent {
  detailType: string;
  detail: Record<string, unknown>;
}

export interface EventPublisher {
  publish(events: BusEvent[]): Promise<void>;
}

/** One metric sample; names and units are those of docs/metrics.md. */
export interface Metrics {
  count(name: string, value: number, dimensions: Record<string, string>): void;
}
