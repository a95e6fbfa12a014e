/**
 * What the API server will say to an eviction, as far as PodDisruptionBudgets go. It follows the
 * eviction handler (kubernetes semantics §3.2); the server's own answer always has the last word.
 */
import { type SelectorRequirement, selectorMatches } from '../config/selector.ts';
import {
  conditionOf,
  keyOf,
  type LabelSelector,
  type Pod,
  type PodDisruptionBudget,
} from '../kubernetes/objects.ts';

/** A budget that covers a pod, as it stood when it was read. */
export interface BudgetState {
  /** `namespace/name`. */
  budget: string;
  disruptionsAllowed: number;
}

export type BudgetForecast =
  /** `counts` when the budget is charged for it. */
  | { kind: 'allowed'; counts: boolean }
  /** No disruption is allowed now; may free itself. */
  | { kind: 'exhausted'; message: string }
  /** The server refuses any pod with more than one budget, whatever they allow. */
  | { kind: 'several'; message: string };

/**
 * The budgets that cover a pod: those of its namespace whose selector matches. An empty selector
 * matches every pod, none at all no pod; one that is not valid is passed over, as the server does.
 */
export function budgetsOf(pod: Pod, budgets: PodDisruptionBudget[]): PodDisruptionBudget[] {
  return budgets.filter(
    (budget) =>
      budget.metadata.namespace === pod.metadata.namespace &&
      labelSelectorMatches(budget.spec.selector, pod.metadata.labels ?? {}),
  );
}

/** Name and room of each budget. */
export function budgetStates(budgets: PodDisruptionBudget[]): BudgetState[] {
  return budgets.map((budget) => ({
    budget: keyOf(budget),
    disruptionsAllowed: allowedBy(budget),
  }));
}

/** What `covering`, the budgets of this pod, mean for its eviction. */
export function forecastEviction(pod: Pod, covering: PodDisruptionBudget[]): BudgetForecast {
  const { phase } = pod.status;
  const ignoresBudgets =
    phase === 'Pending' ||
    phase === 'Succeeded' ||
    phase === 'Failed' ||
    pod.metadata.deletionTimestamp !== undefined;
  const [budget, ...more] = covering;
  if (ignoresBudgets || budget === undefined) return { kind: 'allowed', counts: false };
  if (more.length > 0) {
    const names = covering.map(keyOf).sort().join(' and ');
    return {
      kind: 'several',
      message: `covered by ${covering.length} PodDisruptionBudgets, ${names}: the API server evicts no such pod until only one is left`,
    };
  }
  if (conditionOf(pod.status.conditions, 'Ready')?.status !== 'True') {
    const { currentHealthy = 0, desiredHealthy = 0 } = budget.status;
    const isFree =
      budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
      (currentHealthy >= desiredHealthy && desiredHealthy > 0);
    if (isFree) return { kind: 'allowed', counts: false };
  }
  const { generation = 0 } = budget.metadata;
  if ((budget.status.observedGeneration ?? 0) < generation) {
    return {
      kind: 'exhausted',
      message: `PodDisruptionBudget ${keyOf(budget)} is still being processed by its controller`,
    };
  }
  const allowed = allowedBy(budget);
  if (allowed > 0) return { kind: 'allowed', counts: true };
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status;
  return {
    kind: 'exhausted',
    message: `PodDisruptionBudget ${keyOf(budget)} allows ${allowed} disruptions (${currentHealthy} healthy, ${desiredHealthy} needed)`,
  };
}

function allowedBy(budget: PodDisruptionBudget): number {
  return budget.status.disruptionsAllowed ?? 0;
}

/** Whether a `metav1.LabelSelector` matches labels. */
export function labelSelectorMatches(
  selector: LabelSelector | null | undefined,
  labels: Record<string, string>,
): boolean {
  if (selector === undefined || selector === null) return false;
  const requirements = requirementsOf(selector);
  return requirements !== undefined && selectorMatches(requirements, labels);
}

/** The selector's requirements, or undefined when it is not valid. */
function requirementsOf(selector: LabelSelector): SelectorRequirement[] | undefined {
  const requirements: SelectorRequirement[] = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) => ({ operator: 'in', key, values: [value] }),
  );
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const needsValues = operator === 'In' || operator === 'NotIn';
    if (needsValues === (values.length === 0)) return undefined;
    switch (operator) {
      case 'In':
        requirements.push({ operator: 'in', key, values });
        break;
      case 'NotIn':
        requirements.push({ operator: 'notin', key, values });
        break;
      case 'Exists':
        requirements.push({ operator: 'exists', key });
        break;
      case 'DoesNotExist':
        requirements.push({ operator: 'absent', key });
        break;
      default:
        return undefined;
    }
  }
  return requirements;
}
