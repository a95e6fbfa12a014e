/** The rules of the eviction subresource (reference: pkg/registry/core/pod/storage/eviction.go). */
import type { Pod, PodDisruptionBudget } from '../../lib/kubernetes/objects.ts';
import { budgetsOf } from './controllers/budgets.ts';
import { isFinished, isReady, setCondition } from './pod-status.ts';
import { stamp, type World } from './world.ts';

export type EvictionVerdict =
  | { kind: 'accepted' }
  /** The budget has nothing left. `retryAfterSeconds` only while its status lags behind. */
  | { kind: 'budget'; message: string; retryAfterSeconds?: number }
  | { kind: 'several-budgets' };

export interface EvictionOptions {
  graceSeconds?: number;
  dryRun?: boolean;
}

/** Evicts the pod, or says which budget is against it. Preconditions are the caller's business. */
export function evict(world: World, pod: Pod, options: EvictionOptions = {}): EvictionVerdict {
  const idle = pod.status.phase === 'Pending' || isFinished(pod);
  const leaving = pod.metadata.deletionTimestamp !== undefined;
  const budgets = idle || leaving ? [] : budgetsOf(world, pod);
  if (budgets.length > 1) return { kind: 'several-budgets' };
  const [budget] = budgets;
  const verdict = budget === undefined ? 'free' : judge(budget, pod);
  if (typeof verdict === 'object') return verdict;
  if (options.dryRun || leaving) return { kind: 'accepted' };
  if (budget !== undefined && verdict === 'counted') {
    budget.status.disruptionsAllowed = (budget.status.disruptionsAllowed ?? 0) - 1;
    world.store.changed('poddisruptionbudgets', budget, 'status');
  }
  setCondition(
    pod.status,
    {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
    },
    stamp(world),
  );
  const nobodyRunsIt = pod.spec.nodeName === undefined || isFinished(pod);
  const grace = options.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  world.store.requestDeletion('pods', pod, nobodyRunsIt ? 0 : grace);
  return { kind: 'accepted' };
}

/** `free` goes without touching the budget, `counted` takes one of its disruptions. */
function judge(budget: PodDisruptionBudget, pod: Pod): 'free' | 'counted' | EvictionVerdict {
  const { status, spec, metadata } = budget;
  const healthy = status.currentHealthy ?? 0;
  const desired = status.desiredHealthy ?? 0;
  if (!isReady(pod)) {
    if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return 'free';
    if (desired > 0 && healthy >= desired) return 'free';
  }
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return {
      kind: 'budget',
      message: `The disruption budget ${metadata.name} is still being processed by the server.`,
      retryAfterSeconds: 10,
    };
  }
  if ((status.disruptionsAllowed ?? 0) <= 0) {
    return {
      kind: 'budget',
      message: `The disruption budget ${metadata.name} needs ${desired} healthy pods and has ${healthy} currently`,
    };
  }
  return 'counted';
}
