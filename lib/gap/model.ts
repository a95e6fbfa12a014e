import type { DaemonSet, KubernetesEvent, Node, NodeClaim, Pod } from '../kubernetes/objects.ts';

/** Why the pod of a gap is not there. The vocabulary of docs/causes.md. */
export const causes = [
  'missing',
  'create-blocked',
  'unschedulable-resources',
  'unschedulable-ports',
  'untolerated-taint',
  'image-pull',
  'config-error',
  'volume',
  'sandbox',
  'crash-loop',
  'oom-killed',
  'not-ready',
  'starting',
  'terminating',
  'rollout',
  'node-not-ready',
  'evicted',
  'unknown',
] as const;
export type Cause = (typeof causes)[number];

/** Who would have to change for the gap to close. */
export const blames = ['node', 'daemonset', 'zone', 'cluster', 'unclear'] as const;
export type Blame = (typeof blames)[number];

/** The furthest that nodegap may go for a DaemonSet. */
export const ceilings = ['alert', 'isolate', 'replace'] as const;
export type Ceiling = (typeof ceilings)[number];

/**
 * A reading that may be refused or absent without making the whole read worthless. `notAsked`: a
 * dump that holds none, as when kubectl was not asked for them.
 */
export type OptionalRead<T> =
  | { ok: true; items: T[] }
  | { ok: false; reason: string; notAsked?: true };

/**
 * One complete, consistent read of a cluster. Nodes, DaemonSets and pods are never partial: a read
 * that did not complete throws instead. Read in the order nodes, DaemonSets, pods, so that a
 * younger list can only show more pods, never fewer.
 */
export interface ClusterFacts {
  cluster: string;
  /** Set when not all pods were read in full. */
  quick?: QuickCoverage;
  /** When the first list was asked for, epoch milliseconds. */
  readAt: number;
  /**
   * By how many milliseconds the clock here is at least ahead of the API server's, or behind it when
   * negative; 0 within what can be told. Absent where nobody tells.
   */
  clockAheadMs?: number;
  /** The state of the cluster that the nodes were read at; absent where nobody tells. */
  resourceVersion?: string;
  nodes: Node[];
  daemonSets: DaemonSet[];
  /** At least every pod that a DaemonSet controls; may hold others too. */
  pods: Pod[];
  events: OptionalRead<KubernetesEvent>;
  nodeClaims: OptionalRead<NodeClaim>;
}

/**
 * What a quick read knows besides `pods`, which then holds only the pods of nodes and DaemonSets
 * that were read in full. By DaemonSet uid; of a DaemonSet that is not named nothing is known.
 */
export type QuickCoverage = ReadonlyMap<string, CoveredNodes>;

/** The nodes on which a table showed the pod of one DaemonSet as surely healthy, by name. */
export type CoveredNodes = ReadonlySet<string>;

/** One fact that a verdict rests on: the object, the field, its value, and what would change it. */
export interface Evidence {
  /** For example `pod kube-system/aws-node-x7k2p`. */
  object: string;
  /** For example `status.containerStatuses[0].state.waiting.reason`. */
  field: string;
  value: string;
  /** What would have to be different for the verdict to change. */
  wouldChange?: string;
}

/** How a DaemonSet came to be required, with the furthest action allowed for it. */
export interface Requirement {
  ceiling: Ceiling;
  /** The configuration entry that chose it, as the user wrote it. */
  chosenBy: string;
}

/** A configured node condition that counts as a fault (docs/configuration.md, `conditions`). */
export interface ConditionRule {
  type: string;
  status: ConditionStatus;
  /** Patterns of which the reason must match one; any reason will do when there are none. */
  reasons: readonly string[];
  /** Age below which it is no matter. */
  minimumAgeMs: number;
  ceiling: Ceiling;
}

export const conditionStatuses = ['True', 'False', 'Unknown'] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

/** What the state table remembers of a fault between scans (docs: gap record). Times are epoch ms. */
export interface GapRecord {
  nodeUid: string;
  /** The DaemonSet, or the condition as `subjectOf` names it. */
  daemonSet: string;
  firstSeen: number;
  /** Once it is confirmed, up to some minutes late, since not every sighting is written. */
  lastSeen: number;
  /** Scans in which it was seen, at least. */
  sightings: number;
  /** Times that it went away and came back. */
  flaps: number;
  /** Since when it has been healthy again, when it is. */
  healthySince?: number;
}

/** The part of the configuration that detection rests on. Durations are milliseconds. */
export interface DetectionPolicy {
  /** How each DaemonSet is required; undefined for one that is not. */
  requirementOf(daemonSet: DaemonSet): Requirement | undefined;
  /** Look at every DaemonSet, also those not required. */
  allDaemonSets: boolean;
  nodeGraceMs: number;
  podGraceMs: number;
  confirmationScans: number;
  confirmationMs: number;
  /** Taint keys that a node is born with and that something is to remove. */
  startupTaints: string[];
  /** Node conditions that are faults; of a type and status the first match decides. */
  conditions?: readonly ConditionRule[];
}

/** The pod that speaks for a gap: the newest live one, else the one on its way out. */
export interface GapPod {
  namespace: string;
  name: string;
  uid: string;
  /** Label `controller-revision-hash`. */
  revision?: string;
  restarts: number;
}

/** A (node, DaemonSet) pair where the DaemonSet should run and no pod of it is Running and Ready. */
export interface Gap {
  node: string;
  nodeUid: string;
  pool?: string;
  zone?: string;
  /** `namespace/name`. */
  daemonSet: string;
  daemonSetUid: string;
  required: boolean;
  ceiling: Ceiling;
  cause: Cause;
  /** Further causes found on the same pair, the one whose cure would unblock the rest first. */
  otherCauses: Cause[];
  blame: Blame;
  /** Why that blame, in words and numbers. */
  blameReason: string;
  /** What the blame rests on, and what would change it. */
  blameEvidence: Evidence[];
  /** Epoch ms: first sighting, or without history the best that node and pod times tell. */
  since: number;
  /** Epoch ms at which the grace ends or ended; absent when neither node nor pod tells its age. */
  graceEndsAt?: number;
  /** Node and pod are older than their grace. */
  pastGrace: boolean;
  /** Seen in enough scans and long enough past its grace (or no history is kept). */
  confirmed: boolean;
  pod?: GapPod;
  message: string;
  evidence: Evidence[];
}

/**
 * A node with a condition that the configuration names. What is said of a gap holds for it, but it
 * has no DaemonSet: it is told apart by `condition`.
 */
export interface ConditionFault
  extends Omit<Gap, 'daemonSet' | 'daemonSetUid' | 'pod' | 'cause' | 'otherCauses'> {
  cause: 'node-condition';
  condition: { type: string; status: ConditionStatus; reason?: string };
  /** Why less is allowed than the configuration says. */
  loweredBecause?: string;
  /** It may be nodegap's own doing: nothing follows from it. */
  sinceIsolation?: true;
}

/** What a node may be acted on for. */
export type Fault = Gap | ConditionFault;

/** A pair, node or read of which nothing can be said: never healthy and never a gap. */
export interface UnknownEntry {
  node?: string;
  nodeUid?: string;
  daemonSet?: string;
  /** Type of the node condition that it is about. */
  condition?: string;
  /** Stable code, for example `node-initialising`, `heartbeat-stale`, `events-unavailable`. */
  reason: string;
  message: string;
  /** What it rests on. */
  evidence?: Evidence[];
}

/** A DaemonSet with a pod that should not count as covered nor as gap yet. */
export type PairState =
  | { kind: 'ok'; pod: Pod }
  /** A table showed its pod as surely healthy; the pod itself was not read. */
  | { kind: 'covered' }
  | { kind: 'not-eligible'; reason: string }
  | { kind: 'settling'; pod: Pod }
  /** Nothing can be said yet; `reason` is that of the unknown entry. */
  | { kind: 'deferred'; reason: string; message: string; evidence: Evidence[] }
  | { kind: 'gap'; gap: Gap };

/** A node that is not looked at: never healthy and never a gap. */
export interface LeftOutNode {
  node: string;
  nodeUid: string;
  kind: 'fargate' | 'hybrid' | 'leaving';
  reason: string;
  /** What it rests on. */
  evidence?: Evidence[];
}

export interface Detection {
  cluster: string;
  now: number;
  /** Sorted by node, then DaemonSet. */
  gaps: Gap[];
  /** Sorted by node, then condition. Absent when the policy names no conditions. */
  conditionFaults?: ConditionFault[];
  unknown: UnknownEntry[];
  /** Nodes looked at (Fargate, hybrid and leaving nodes are left out). */
  nodes: number;
  /** Pairs where a DaemonSet should run by intent. */
  eligiblePairs: number;
  /** Sorted by node. */
  leftOut?: LeftOutNode[];
}
