/**
 * In which order pods leave a node: workload before infrastructure. Pure.
 *
 * A CSI node plugin that goes before the pods whose volumes it serves leaves those volumes hanging,
 * and a cluster's DNS that goes first makes the shutdown of everything else fail. Karpenter drains
 * one group after the other for the same reason. DaemonSet pods are not evicted at all, so what is
 * left of this is orphaned ones, and what else calls itself critical.
 *
 * - `workload` goes at once, lower priorities first.
 * - `cluster-critical` goes when no workload is on its way out or about to be. Workload that is
 *   blocked does not hold it: it runs elsewhere just as well.
 * - `node-local` goes last, when no other pod that is to leave is left, blocked ones included: they
 *   may need it for as long as they are here.
 */
import type { Pod } from '../kubernetes/objects.ts';
import type { BudgetBlock, DrainPlan, PodPlan } from './drain-plan.ts';

const stages = ['workload', 'cluster-critical', 'node-local'] as const;
export type Stage = (typeof stages)[number];

// Users may define priorities up to 1,000,000,000; those above are Kubernetes' own two classes
// (k8s.io/kubernetes/pkg/apis/scheduling).
const clusterCritical = 2_000_000_000;
const nodeCritical = 2_000_001_000;

/** Where a pod stands in the order. A pod of a DaemonSet counts as node-local at any priority. */
export function stageOf(pod: Pod, isDaemonPod: boolean): Stage {
  const { priority = 0, priorityClassName } = pod.spec;
  if (isDaemonPod || priority >= nodeCritical || priorityClassName === 'system-node-critical') {
    return 'node-local';
  }
  return priority >= clusterCritical || priorityClassName === 'system-cluster-critical'
    ? 'cluster-critical'
    : 'workload';
}

export interface Turn {
  /** To be evicted in this pass, in this order. */
  now: (PodPlan | BudgetBlock)[];
  /** Whose turn it is too, but the server evicts no pod with several budgets. */
  hopeless: BudgetBlock[];
  /** Whose turn comes when others have left. */
  heldBack: (PodPlan | BudgetBlock)[];
}

/** Pods in the order in which they leave. */
export function inOrder<T extends Pick<PodPlan, 'stage' | 'priority'>>(pods: readonly T[]): T[] {
  return pods.toSorted(
    (a, b) => stages.indexOf(a.stage) - stages.indexOf(b.stage) || a.priority - b.priority,
  );
}

/** Whose turn it is to leave. */
export function turnOf(plan: DrainPlan): Turn {
  const free = [...plan.evict, ...plan.orphanDaemonPods];
  const blocked = plan.blockedByBudget;
  const moving = [...free, ...plan.waitOnly.filter(({ stuck }) => !stuck)];
  const all = [...free, ...blocked, ...plan.waitOnly, ...plan.needsApproval];
  const hasComeUp: Record<Stage, boolean> = {
    workload: true,
    'cluster-critical': !moving.some(({ stage }) => stage === 'workload'),
    'node-local': !all.some(({ stage }) => stage !== 'node-local'),
  };
  const isUp = ({ stage }: { stage: Stage }) => hasComeUp[stage];
  const candidates = [...free, ...blocked.filter(({ permanent }) => !permanent)];
  return {
    now: inOrder(candidates.filter(isUp)),
    hopeless: blocked.filter((block) => block.permanent && isUp(block)),
    heldBack: candidates.filter((candidate) => !isUp(candidate)),
  };
}
