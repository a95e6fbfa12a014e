/** What the admission of new nodes is told, and what it decides. */
import type { DaemonSet, Node, Pod } from '../../kubernetes/objects.ts';
import type { LeavingReasons } from '../../safety/leaving.ts';

/** A cluster as one pass read it. */
export interface AdmissionFacts {
  /** Those without a startup taint of nodegap are passed over. */
  nodes: readonly Node[];
  daemonSets: readonly DaemonSet[];
  /** At least those of DaemonSets on nodes with a startup taint. */
  pods: readonly Pod[];
  /** Instances that EC2 or Auto Scaling said are going away. */
  leaving: LeavingReasons;
  /** Whose marks on nodes are our own. */
  installation: string;
}

/** Why a taint may be taken off. */
export type RemovalReason =
  /** Every DaemonSet behind it has been Ready on the node for the soak time. */
  | 'proved'
  /** The node had proved itself and somebody put the taint back. */
  | 'proved-before'
  /** No DaemonSet behind it is meant for this node. */
  | 'nothing-to-prove';

export interface Removal {
  /** NAME of `nodegap.dev/startup-NAME`. */
  name: string;
  because: RemovalReason;
  message: string;
}

/** Why a taint stays for now: docs/reason-codes.md explains each. */
export type WaitingCode =
  | 'startup-taint-without-daemonset'
  | 'startup-node-unregistered'
  | 'startup-node-uninitialised'
  | 'startup-node-not-ready'
  | 'startup-pod-shut-out'
  | 'startup-pod-missing'
  | 'startup-pod-not-ready'
  | 'startup-soaking';

export interface Waiting {
  name: string;
  code: WaitingCode;
  /** Names the DaemonSet and its state. */
  message: string;
}

/** What is to be done about one node that bears startup taints of nodegap. */
export type NodeAdmission =
  /** Something takes it away, or it runs no DaemonSets. */
  | { kind: 'left-alone'; node: Node; reason: string }
  | {
      kind: 'looked-at';
      node: Node;
      remove: Removal[];
      wait: Waiting[];
      /** It has not proved itself by its deadline: why, in words, for whoever takes it up. */
      overdue?: string;
    };

export interface AdmissionDecision {
  /** One for each node that bears a startup taint, in the order of the facts. */
  nodes: NodeAdmission[];
  /** NAMEs that no required DaemonSet stands behind: nobody will ever take them off. */
  orphans: string[];
}
