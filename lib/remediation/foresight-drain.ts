/** How a drain would end if nothing but the pods that may go would go. Pure. */
import { blockersOf } from './drain-blockers.ts';
import { decideDrain } from './drain-decision.ts';
import type { DrainProgress } from './drain-model.ts';
import type { DrainPlan } from './drain-plan.ts';
import { policyIn } from './policy-in.ts';
import type { Situation } from './situation.ts';
import type { DrainResult, WorkflowState } from './workflow-state.ts';

/** Longest time that a drain is followed, in lengths of its own time: what is forced gets one more. */
const mostRounds = 4;

/**
 * Asks DrainNode's own decision, first when all that may go has gone, and then at the end of its
 * time. `startedAt` is epoch ms.
 */
export function foreseeDrain(
  plan: DrainPlan,
  situation: Pick<Situation, 'config' | 'judgement' | 'place'>,
  state: WorkflowState,
  startedAt: number,
): { result: DrainResult; at: number } {
  const { config, judgement } = situation;
  const settings = { ...config, approvals: policyIn(config, state, situation) };
  const dead = judgement.kind === 'act' && judgement.ladder.secondObserver;
  const tainted: WorkflowState = {
    ...state,
    taint: { next: 'tainted', code: 'tainted', message: '', turnedBack: 0 },
  };
  let result = decideDrain(progressOf(plan, startedAt), tainted, settings, startedAt, dead);
  let at = startedAt;
  for (let round = 1; result.next === 'draining' && round <= mostRounds; round += 1) {
    at = startedAt + round * config.timings.drain * 1000;
    const before = { ...tainted, drain: result };
    result = decideDrain(progressOf(plan, at), before, settings, at, dead);
  }
  return { result, at };
}

/** What a pass would tell once every pod that may go has gone. */
function progressOf(plan: DrainPlan, now: number): DrainProgress {
  const left: DrainPlan = {
    ...plan,
    evict: [],
    orphanDaemonPods: [],
    waitOnly: plan.waitOnly.filter(({ stuck }) => stuck),
  };
  const remaining = left.waitOnly.length + left.needsApproval.length + left.blockedByBudget.length;
  if (remaining === 0) return { kind: 'drained', evicted: 0, volumes: [] };
  const blockers = blockersOf(left, { outcomes: new Map(), kept: new Map(), previous: [], now });
  return {
    kind: 'draining',
    evicted: 0,
    remaining,
    blockers,
    heldBack: 0,
    leaving: [],
    nextPollSeconds: 0,
    forced: true,
    untried: 0,
    volumes: [],
  };
}
