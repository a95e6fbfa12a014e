/** Who holds a drain up: by the plan after a pass, or else by the server's answer. Pure. */
import type { EvictionOutcome } from '../ports.ts';
import type { DrainBlocker } from './drain-model.ts';
import { type BudgetBlock, type DrainPlan, type PodPlan, stuckMessage } from './drain-plan.ts';

type Found = Omit<DrainBlocker, 'since'>;

export interface BlockerFacts {
  /** What was answered to evictions, by pod uid. */
  outcomes: Map<string, EvictionOutcome>;
  /** Why pods that might have been deleted were not, by uid. */
  kept: Map<string, string>;
  /** Blockers of the pass before, so that `since` goes on. */
  previous: DrainBlocker[];
  /** Epoch ms. */
  now: number;
}

/** The pods of `left`, the plan after a pass, that do not leave by themselves. */
export function blockersOf(left: DrainPlan, facts: BlockerFacts): DrainBlocker[] {
  const { outcomes, kept, previous, now } = facts;
  const found: Found[] = [
    ...left.blockedByBudget.map((block) => budgetBlocker(block, outcomes.get(block.pod.uid))),
    ...left.needsApproval.map(
      ({ pod, reasons }): Found => ({
        kind: 'needs-approval',
        pod,
        budgets: [],
        message: reasons.map((reason) => reason.message).join('; '),
      }),
    ),
    ...left.waitOnly
      .filter((waiting) => waiting.stuck)
      .map(
        (waiting): Found => ({
          kind: left.isReady ? 'stuck-terminating' : 'kubelet-silent',
          pod: waiting.pod,
          budgets: [],
          message: stuckMessage(waiting),
        }),
      ),
    ...[...left.evict, ...left.orphanDaemonPods].flatMap((planned) =>
      refusedBlocker(planned, outcomes.get(planned.pod.uid)),
    ),
  ];
  return found.map((blocker) => {
    const why = kept.get(blocker.pod.uid);
    const message = why === undefined ? blocker.message : `${blocker.message}; ${why}`;
    const before = previous.find(
      (earlier) => earlier.pod.uid === blocker.pod.uid && earlier.kind === blocker.kind,
    );
    return { ...blocker, message, since: before?.since ?? now };
  });
}

/** What the budget says counts more than the answer, but for admission, which it knows nothing of. */
function budgetBlocker(block: BudgetBlock, outcome: EvictionOutcome | undefined): Found {
  const { pod, budgets, permanent, message } = block;
  if (outcome?.kind === 'denied') return { kind: 'denied', pod, budgets, message: outcome.message };
  return { kind: permanent ? 'several-budgets' : 'budget', pod, budgets, message };
}

const blockerKinds = {
  'blocked-by-budget': 'budget',
  'several-budgets': 'several-budgets',
  denied: 'denied',
  retry: 'refused',
} as const;

function refusedBlocker(planned: PodPlan, outcome: EvictionOutcome | undefined): Found[] {
  if (outcome === undefined || outcome.kind === 'accepted' || outcome.kind === 'gone') return [];
  const { pod, budgets } = planned;
  const names = budgets.map((state) => state.budget).join(' and ');
  const message = names === '' ? outcome.message : `${outcome.message} (${names})`;
  return [{ kind: blockerKinds[outcome.kind], pod, budgets, message }];
}
