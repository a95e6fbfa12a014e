/** Disruption below a budget that was not an eviction which the API server granted. Pure. */
import { conditionOf, type Pod } from '../../lib/kubernetes/objects.ts';
import { isReadyPod, pairOfPod } from './pairs.ts';
import type { Budget, Recording } from './recording.ts';

export interface Violation {
  budget: string;
  pod: string;
  node: string;
  /** Epoch ms. */
  at: number;
  /** Pods left that were Ready and not on their way out, and how many the budget asks for. */
  left: number;
  wanted: number;
  /** What the API server wrote on the pod about who took it, if anything. */
  reason: string;
}

export interface Disruptions {
  /** Pods taken by the eviction API, which checks the budgets itself. */
  evictions: number;
  violations: Violation[];
}

/**
 * Goes through all changes of pods and budgets in the order of the cluster's revisions. A pod that
 * was Ready and is deleted is disrupted; one that was not Ready any more, as on a node whose kubelet
 * is silent, is lost already and disrupts nobody.
 */
export function disruptionsOf({ pods, budgets }: Recording): Disruptions {
  const known = new Map<string, Budget>();
  const present = new Map<string, Pod>();
  const result: Disruptions = { evictions: 0, violations: [] };
  const merged = [
    ...budgets.map(({ revision, type, object }) => ({ revision, type, budget: object })),
    ...pods.map(({ revision, type, object, at }) => ({ revision, type, at, pod: object })),
  ].sort((a, b) => a.revision - b.revision);
  for (const change of merged) {
    if ('budget' in change) {
      known.set(change.budget.metadata.uid, change.budget);
      continue;
    }
    const { type, pod, at } = change;
    const before = present.get(pod.metadata.uid);
    if (type === 'DELETED') present.delete(pod.metadata.uid);
    else present.set(pod.metadata.uid, pod);
    const isOver = type === 'DELETED' || !isAvailable(pod);
    const isTaken = type === 'DELETED' || pod.metadata.deletionTimestamp !== undefined;
    if (before === undefined || !isAvailable(before) || !isOver || !isTaken) continue;
    // Budgets do not hold for DaemonSets: nobody evicts their pods to drain a node.
    if (pairOfPod(pod) !== undefined) continue;
    const reason = conditionOf(pod.status.conditions, 'DisruptionTarget')?.reason ?? '';
    if (reason === 'EvictionByEvictionAPI') {
      result.evictions += 1;
      continue;
    }
    for (const budget of known.values()) {
      if (!covers(budget, pod)) continue;
      const left = [...present.values()].filter(
        (each) => covers(budget, each) && isAvailable(each),
      ).length;
      const wanted = budget.status?.desiredHealthy ?? 0;
      if (left >= wanted) continue;
      const { name } = pod.metadata;
      const node = pod.spec.nodeName ?? '';
      result.violations.push({
        budget: budget.metadata.name,
        pod: name,
        node,
        at,
        left,
        wanted,
        reason,
      });
    }
  }
  return result;
}

function isAvailable(pod: Pod): boolean {
  return isReadyPod(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** The budgets of the comparison choose by `app In (…)` alone. */
function covers({ metadata, spec }: Budget, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false;
  const [first, ...more] = spec.selector?.matchExpressions ?? [];
  if (first?.key !== 'app' || first.operator !== 'In' || more.length > 0) {
    throw new Error(`budget ${metadata.name} chooses by something else than app In (…)`);
  }
  return first.values?.includes(pod.metadata.labels?.app ?? '') === true;
}
