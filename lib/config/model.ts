/** The configuration after validation and defaults. Durations are seconds throughout. */
import type { FaultCause } from '../gap/fault.ts';
import type { Ceiling, ConditionStatus } from '../gap/model.ts';

/** `observe` writes nothing to the cluster and reports what it would do. */
export type Mode = 'observe' | 'act';

export interface ClusterConfig {
  name: string;
  region: string;
  /** AWS account id; the deploying account when absent. */
  account?: string;
  /** `public`, or the name of an entry of `networks`. */
  network: string;
  mode: Mode;
  /** nodegap's stack makes the access entries of its roles. */
  manageAccessEntries: boolean;
  /** Whether Karpenter itself repairs its nodes that are not Ready: no object shows it. */
  karpenterNodeRepair: 'on' | 'off';
}

/** A private network from which a cluster's private endpoint can be reached. */
export interface NetworkConfig {
  name: string;
  vpcId: string;
  subnetIds: string[];
  availabilityZones: string[];
  securityGroupIds: string[];
}

/** Exactly one way to name DaemonSets, with the furthest action allowed for them. */
export type RequiredDaemonSet = {
  action: Ceiling;
  /** NAME of `nodegap.dev/startup-NAME`; the name of each DaemonSet when absent. */
  startupTaint?: string;
} & (
  | { by: 'name'; name: string }
  | { by: 'namespaced-name'; namespace: string; name: string }
  | { by: 'selector'; selector: string }
  | { by: 'priority-class'; priorityClass: string }
);

/** A node condition that is a fault. */
export interface ConditionConfig {
  type: string;
  status: ConditionStatus;
  /** Patterns; any reason will do when there are none. */
  reasons: string[];
  minimumAge: number;
  action: Ceiling;
}

/** A node condition that becomes the taint `nodegap.dev/condition-NAME`. */
export interface ConditionTaintConfig {
  name: string;
  type: string;
  status: ConditionStatus;
  /** Patterns; any reason will do when there are none. */
  reasons: string[];
  /** Age of the condition, as its own time says. */
  minimumAge: number;
  /** How long scans must have seen it besides. */
  holdDown: number;
  /** How long it must be over before the taint is taken off. */
  holdUp: number;
  effect: 'NoSchedule' | 'PreferNoSchedule';
}

export interface AuditConfig {
  /** Seconds in which workload of a lost node has to run elsewhere, where somebody states it. */
  recoverySlo?: number;
}

export interface Timings {
  scan: number;
  nodeGrace: number;
  podGrace: number;
  confirmationScans: number;
  confirmation: number;
  holdDown: number;
  holdDownNodeNotReady: number;
  holdUp: number;
  drain: number;
  approval: number;
  verification: number;
  /** After a drain, until the volumes of the pods that left are detached; 0 = not waited for. */
  volumes: number;
  /** How often WaitForRecovery, DrainNode and VerifyReplacement look again. */
  poll: number;
  /** How long a DaemonSet must be Ready on a new node before its startup taint is taken off. */
  startupSoak: number;
  /** From the creation of a node: by then it has proved itself, or it is handed to remediate-node. */
  startupDeadline: number;
}

export interface BreakerConfig {
  /** 0 to 100; 0 = never act. */
  maxUnhealthyPercent: number;
  /** So many unhealthy nodes of a scope and no more, whatever the percentage allows. */
  maxUnhealthyNodes?: number;
  /** So many unhealthy nodes of one zone, with hardly any elsewhere, stop work there. */
  unhealthyInOneZone: number;
  coolDown: number;
  /** Seconds between new nodes in a scope whose breaker has closed; 0 = no pace. */
  reopenInterval: number;
  /** Seconds for which that pace holds at most. */
  reopenFor: number;
  parallelPerPool: number;
  parallelPerCluster: number;
  replacementsPerHour: number;
  /** Bad replacements in a pool after which it stops. */
  badReplacements: number;
  /** What an active ARC zonal shift means. */
  zonalShifts: OutsidePolicy;
  /** What an update of the EKS cluster or of a managed node group means. */
  eksUpdates: OutsidePolicy;
}

/** Whether work of AWS on a cluster holds back what nodegap does there. */
export type OutsidePolicy = 'hold' | 'ignore';

export type ApprovalPolicy = 'never' | 'always' | 'drain-blocked';

export interface ApprovalsConfig {
  policy: ApprovalPolicy;
  /** In its place, by name of a pool. */
  pools: Record<string, ApprovalPolicy>;
  /** In its place, by cause of a fault. */
  causes: Partial<Record<FaultCause, ApprovalPolicy>>;
  /** Notices hold a link to a page that takes the answer of whoever holds it. */
  link: boolean;
  /** People are reminded of an open question each time it has waited that long; 0 = never. */
  remindAfter: number;
  /** Told once as an escalation when it has waited that long; 0 = never. */
  escalateAfter: number;
}

/** What to do with a kind of node when ReplaceNode is reached. */
export type ReplacementMethod = 'delete-nodeclaim' | 'terminate-instance' | 'notify' | 'defer';

export interface ReplacementConfig {
  karpenter: 'delete-nodeclaim' | 'notify';
  /** `defer` leaves its nodes to the node repair of EKS and does not even isolate them. */
  autoMode: 'defer' | 'delete-nodeclaim' | 'notify';
  managedNodeGroup: 'terminate-instance' | 'notify';
  /** Self-managed nodes of an Auto Scaling group. */
  autoScalingGroup: 'terminate-instance' | 'notify';
  other: 'notify';
}

export interface DrainConfig {
  /** Pods without a controller: ask a person, or evict (never deleted). */
  barePods: 'ask' | 'evict';
  /** Pods with emptyDir volumes. */
  emptyDir: 'ask' | 'evict';
  /** When the time of a drain is over: a person, or the replacement with what is left. */
  atDeadline: 'hold' | 'proceed';
  force: ForceConfig;
}

/** What may speak against the eviction of a pod: its budgets, admission, or the pod itself. */
export type ForceReason =
  | 'budget'
  | 'denied'
  | 'bare-pod'
  | 'empty-dir'
  | 'do-not-disrupt'
  | 'not-safe-to-evict';

/** Deletion of pods that cannot be evicted in time. */
export interface ForceConfig {
  /** What may be overridden. Empty: nothing is ever deleted. */
  pods: ForceReason[];
  /** Seconds, at least 1. */
  grace: number | 'own';
}

/** Whether a node may be drained or replaced when its evidence could not be saved. */
export type EvidencePolicy = 'required' | 'best-effort';

export interface EvidenceConfig {
  policy: EvidencePolicy;
  /** Days after which the bucket lets it expire; read at synth only. */
  expireDays: number;
}

export interface Config {
  clusters: ClusterConfig[];
  networks: NetworkConfig[];
  requiredDaemonSets: RequiredDaemonSet[];
  conditions: ConditionConfig[];
  conditionTaints: ConditionTaintConfig[];
  startupTaints: string[];
  timings: Timings;
  breaker: BreakerConfig;
  approvals: ApprovalsConfig;
  replacement: ReplacementConfig;
  drain: DrainConfig;
  evidence: EvidenceConfig;
  audit: AuditConfig;
}

/** A configuration with the sha256 of its canonical JSON, which every execution reports. */
export interface LoadedConfig {
  config: Config;
  sha256: string;
}
