/** The pods of a node in the groups of a drain, as data. */
import { isoTime } from '../clock.ts';
import type { PodRef } from '../ports.ts';
import type { BudgetState } from '../remediation/budgets.ts';
import { inOrder, type Stage } from '../remediation/drain-order.ts';
import { type DrainPlan, type SkippedPod, stuckMessage } from '../remediation/drain-plan.ts';
import { skipText } from './drain-lines.ts';

interface Planned {
  /** `namespace/name`. */
  pod: string;
  uid: string;
}

export interface PlannedEviction extends Planned {
  graceSeconds: number;
  /** Workload goes first, then what the cluster depends on, then what the node depends on. */
  stage: Stage;
  budgets: BudgetState[];
  /** What is lost by it. */
  warnings: string[];
}

export interface PlannedPods {
  /** In the order in which they would be evicted. */
  evict: PlannedEviction[];
  /** Left where they are. */
  skip: (Planned & { reason: SkippedPod['reason']; message: string })[];
  /** Held by a budget, or on their way out for too long. */
  blocked: (Planned & {
    reason: 'budget' | 'several-budgets' | 'stuck-terminating';
    budgets: BudgetState[];
    message: string;
  })[];
  /** Evicted only when a person agrees. */
  needsApproval: (Planned & { reasons: { code: string; message: string }[] })[];
  /** On their way out already; `until` (ISO 8601, UTC) is when their grace ends. */
  leaving: (Planned & { until: string })[];
}

/** Every pod of the node in one group. */
export function plannedPods(plan: DrainPlan): PlannedPods {
  const { waitOnly } = plan;
  return {
    evict: inOrder([...plan.evict, ...plan.orphanDaemonPods]).map((planned) => ({
      ...named(planned.pod),
      graceSeconds: planned.graceSeconds,
      stage: planned.stage,
      budgets: planned.budgets,
      warnings: planned.warnings,
    })),
    skip: plan.skip.map(({ pod, reason }) => ({
      ...named(pod),
      reason,
      message: skipText[reason],
    })),
    blocked: [
      ...plan.blockedByBudget.map(({ pod, budgets, permanent, message }) => ({
        ...named(pod),
        reason: permanent ? ('several-budgets' as const) : ('budget' as const),
        budgets,
        message,
      })),
      ...waitOnly
        .filter(({ stuck }) => stuck)
        .map((waiting) => ({
          ...named(waiting.pod),
          reason: 'stuck-terminating' as const,
          budgets: [],
          message: stuckMessage(waiting),
        })),
    ],
    needsApproval: plan.needsApproval.map(({ pod, reasons }) => ({ ...named(pod), reasons })),
    leaving: waitOnly
      .filter(({ stuck }) => !stuck)
      .map(({ pod, deadline }) => ({ ...named(pod), until: isoTime(deadline) })),
  };
}

function named({ namespace, name, uid }: PodRef): Planned {
  return { pod: `${namespace}/${name}`, uid };
}
