/** Watches that no budget is ever violated, whoever takes the pods away. */
import { keyOf } from '../../lib/kubernetes/objects.ts';
import type { Happening } from '../cluster/changes.ts';
import type { SimulatedCluster } from '../cluster/simulated-cluster.ts';

/** What makes a pod count no more. */
const losses: readonly Happening['kind'][] = [
  'pod-evicted',
  'pod-leaving',
  'pod-not-ready',
  'pod-removed',
];

/** Calls `tell` whenever a budget has fewer healthy pods than it asks for. */
export function watchBudgets(cluster: SimulatedCluster, tell: (breach: string) => void): void {
  cluster.onChange((happening) => {
    if (!losses.includes(happening.kind) || !('pod' in happening)) return;
    if (happening.daemonSet !== undefined) return;
    const pods = cluster.list('pods');
    for (const budget of cluster.list('poddisruptionbudgets')) {
      const labels = Object.entries(budget.spec.selector?.matchLabels ?? {});
      const healthy = pods.filter(
        ({ metadata, status }) =>
          metadata.namespace === budget.metadata.namespace &&
          metadata.deletionTimestamp === undefined &&
          labels.every(([key, value]) => metadata.labels?.[key] === value) &&
          status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
      ).length;
      const desired = budget.status.desiredHealthy ?? 0;
      if (healthy < desired) {
        tell(`${keyOf(budget)} had ${healthy} healthy pods of ${desired}, after ${happening.kind}`);
      }
    }
  });
}
