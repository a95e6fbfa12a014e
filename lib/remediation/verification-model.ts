import type { ClusterFacts, Detection, Fault } from '../gap/model.ts';
import type { Pod } from '../kubernetes/objects.ts';
import type { Machine, ScalingGroup } from '../machines.ts';
import type { GroupMachine } from './way.ts';

/** What is remembered of a replacement when it is committed. Times are epoch ms. */
export interface CommittedReplacement {
  node: string;
  nodeUid: string;
  /** Its NodeClaim, when that was deleted. Without claim and machine nothing was ended. */
  claim?: { name: string; uid: string };
  /** EC2 instance of a node with a NodeClaim, where it is on one. */
  instance?: string;
  /** Its machine, when that was ended through an Auto Scaling group. */
  machine?: GroupMachine;
  /** NodePool or node group (lib/gap/node-kinds.ts). */
  pool?: string;
  committedAt: number;
  /**
   * Nodes and pods created from here on may be its consequence: the start of the drain, since
   * Karpenter makes the new node as soon as the evicted pods pend, which is before the commit.
   */
  since: number;
  /** The DaemonSets with the gap, and conditions as `subjectOf` names them. */
  daemonSets: string[];
  /** Uids of the controllers whose pods were drained (DrainPlan.owners). */
  owners: string[];
}

export type Awaited =
  | 'fresh-read'
  | 'claim-gone'
  | 'node-gone'
  | 'machine-gone'
  | 'pods-scheduled'
  | 'new-node'
  | 'daemonsets-ready'
  | 'quiet';

export type ReplacementVerdict =
  /** `quietSince` (epoch ms) goes into the next judgement. */
  | { kind: 'waiting'; what: Awaited; message: string; quietSince?: number }
  /** Without `newNode` none was to be expected, and `because` says why. */
  | { kind: 'replaced'; newNode?: string; newNodes: string[]; because?: string }
  /** A new node has the same gap: the node was not at fault. */
  | { kind: 'bad-replacement'; gaps: Fault[] }
  /** Nothing was ended, so there is nothing to verify. */
  | { kind: 'not-needed' }
  | { kind: 'timed-out'; what: Awaited; message: string };

export interface VerificationInput {
  before: CommittedReplacement;
  facts: ClusterFacts;
  /** Made from the same facts. */
  detection: Detection;
  /** Pods without a node, read with the facts. */
  unscheduledPods: Pod[];
  /** Why one of those that the drain took away finds no node, where an event tells. */
  whyPending?: string;
  /** What AWS says of the machine and its group, read after the facts; absent where none can ask. */
  fate?: MachineFate;
  /** What still hangs on the old node, while it is there: names of attached volumes. */
  volumes?: string[];
  now: number;
  deadline: number;
  /** From the waiting verdict before, when it had one. */
  quietSince?: number;
  /** How long no pod may pend and no node come before it counts as replaced without a new node. */
  settleMs?: number;
}

/** What has become of a machine. */
export interface MachineFate {
  /** `absent`: EC2 has forgotten it, as it does some time after its end. */
  machine: Machine | 'absent';
  /** Its lifecycle state in its group, undefined when it is in none any more. */
  lifecycle?: string;
  /** The group that it was in, undefined for a machine of Karpenter or when it was deleted. */
  group?: ScalingGroup;
}
