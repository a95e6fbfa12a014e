/** The words of a drain in progress. */
import type { PodRef } from '../ports.ts';
import type { Scope } from '../safety/scope.ts';
import type { BudgetState } from './budgets.ts';

/** Why nothing more may be evicted now. */
export interface GuardRefusal {
  code: string;
  message: string;
  /**
   * Why it may pass by itself: the node has no fault at the moment, its fault is not ripe, or
   * nobody can tell. Absent when it is for good.
   */
  passing?: 'healthy' | 'unripe' | 'doubt';
  /** The isolation is allowed, the drain is not any more. */
  staysIsolated?: true;
  /** Whose breaker it is, when it is one. */
  scope?: Scope;
}

/** A pod that holds the drain up. */
export interface DrainBlocker {
  kind:
    | 'budget'
    | 'several-budgets'
    | 'needs-approval'
    | 'denied'
    | 'stuck-terminating'
    /** Ending for longer than its grace on a node whose kubelet does not answer. */
    | 'kubelet-silent'
    | 'refused';
  pod: PodRef;
  budgets: BudgetState[];
  message: string;
  /** Epoch ms since when it has been this pod with this kind. */
  since: number;
}

/** Something that was done to a pod, told as soon as it is done. */
export type DrainStep =
  /** `warnings` say what is lost by it. */
  | { kind: 'evicted'; pod: PodRef; warnings: string[] }
  /** Deleted past what spoke against its eviction. */
  | { kind: 'deleted'; pod: PodRef; because: string; graceSeconds: number };

export type Absent = { kind: 'node-gone' } | { kind: 'node-recreated'; uid: string };

export interface Draining {
  kind: 'draining';
  evicted: number;
  /** Pods that are still to leave, those on their way out among them. */
  remaining: number;
  blockers: DrainBlocker[];
  /** Pods whose turn comes when others have left. */
  heldBack: number;
  /** Pods within their grace, with the epoch ms at which that ends; the latest first. */
  leaving: { pod: PodRef; until: number }[];
  nextPollSeconds: number;
  /** What the configuration lets be forced was forced in this pass. */
  forced: boolean;
  /** Pods that may be deleted, and were not yet. */
  untried: number;
  /** Volumes that no pod on the node uses any more; read only where it matters. */
  volumes: string[];
}

export type DrainProgress =
  /** No pod is left that is to leave. `volumes` of those that left are still attached. */
  | { kind: 'drained'; evicted: number; volumes: string[] }
  | Draining
  | { kind: 'refused'; evicted: number; refusal: GuardRefusal }
  | Absent;
