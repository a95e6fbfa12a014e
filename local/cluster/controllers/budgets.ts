/** The disruption controller: how many evictions each PodDisruptionBudget allows just now. */
import type { LabelSelector, Pod, PodDisruptionBudget } from '../../../lib/kubernetes/objects.ts';
import { isFinished, isReady } from '../pod-status.ts';
import { controllerOf } from '../pods.ts';
import { loop, type World } from '../world.ts';

/** `wantedBy` tells how many pods a controller of that uid should have. */
export function startBudgetController(
  world: World,
  wantedBy: (uid: string) => number | undefined,
): void {
  const { store, delays } = world;
  const reconcile = loop(world, delays.controller, () => {
    for (const budget of store.values('poddisruptionbudgets')) count(world, budget, wantedBy);
  });
  store.subscribe((change) => {
    if (change.resource === 'pods') reconcile();
    if (change.resource === 'poddisruptionbudgets') {
      if (change.type === 'added' || (change.type === 'changed' && change.aspect === 'spec')) {
        reconcile();
      }
    }
  });
}

/** The budgets that cover a pod: same namespace; `{}` covers all, an absent selector none. */
export function budgetsOf(world: World, pod: Pod): PodDisruptionBudget[] {
  return world.store
    .list('poddisruptionbudgets')
    .filter(
      (budget) =>
        budget.metadata.namespace === pod.metadata.namespace &&
        covers(budget.spec.selector, pod.metadata.labels ?? {}),
    );
}

function covers(
  selector: LabelSelector | null | undefined,
  labels: Record<string, string>,
): boolean {
  if (selector === undefined || selector === null) return false;
  const equal = Object.entries(selector.matchLabels ?? {}).every(
    ([key, value]) => labels[key] === value,
  );
  return (
    equal &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return false;
      }
    })
  );
}

function count(
  world: World,
  budget: PodDisruptionBudget,
  wantedBy: (uid: string) => number | undefined,
): void {
  const pods = [...world.store.values('pods')].filter(
    (pod) =>
      pod.metadata.namespace === budget.metadata.namespace &&
      !isFinished(pod) &&
      covers(budget.spec.selector, pod.metadata.labels ?? {}),
  );
  const expected = expectedPods(pods, wantedBy);
  const healthy = pods.filter(
    (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined,
  ).length;
  const { minAvailable, maxUnavailable } = budget.spec;
  const desired =
    minAvailable === undefined
      ? Math.max(0, expected - scaled(maxUnavailable ?? 0, expected))
      : scaled(minAvailable, expected);
  const status: PodDisruptionBudget['status'] = {
    observedGeneration: budget.metadata.generation ?? 1,
    disruptionsAllowed: expected > 0 ? Math.max(0, healthy - desired) : 0,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
  };
  if (JSON.stringify(status) === JSON.stringify(budget.status)) return;
  budget.status = status;
  world.store.changed('poddisruptionbudgets', budget, 'status');
}

/** What the pods' controllers want, or the pods there are where no controller is known. */
function expectedPods(pods: Pod[], wantedBy: (uid: string) => number | undefined): number {
  let expected = 0;
  const counted = new Set<string>();
  for (const pod of pods) {
    const owner = controllerOf(pod)?.uid;
    const wanted = owner === undefined ? undefined : wantedBy(owner);
    if (owner === undefined || wanted === undefined) expected++;
    else if (!counted.has(owner)) expected += wanted;
    if (owner !== undefined) counted.add(owner);
  }
  return expected;
}

/** A number as it is, or a percentage of `total` rounded up, as the controller does for both. */
function scaled(value: number | string, total: number): number {
  if (typeof value === 'number') return value;
  return Math.ceil((Number.parseInt(value, 10) / 100) * total);
}
