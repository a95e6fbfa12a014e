import type { ApprovalPolicy, Timings } from '../config/model.ts';
import { faultText, isConditionFault, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import type { Judgement } from './judge.ts';
import { type RecoveryResult, scopeFields, type WorkflowState } from './workflow-state.ts';

export interface RecoveryFacts {
  judgement: Judgement;
  state: WorkflowState;
  timings: Timings;
  approvals: ApprovalPolicy;
  /** Null when the node's kind can be replaced, else why nodegap stops at isolation. */
  irreplaceable: { code: string; message: string } | null;
  /** A DaemonSet pod is there that may come back under the node's real taints. */
  restartable: boolean;
}

/**
 * Decides what follows one look during hold-down (CheckRecovery).
 *
 * The deadline is the end of hold-down, or a pod grace after a restart, whichever is later: a
 * restarted pod gets its chance. The counter ends a wait that no rule ends: where the fault never
 * ripened the node is released, and where nobody can tell it stays isolated, with an alert.
 */
export function decideRecovery(facts: RecoveryFacts, now: number): RecoveryResult {
  const { state, judgement, timings } = facts;
  const polls = (state.recovery?.polls ?? 0) + 1;
  const seconds = { approvalSeconds: timings.approval };
  const answer = (
    next: RecoveryResult['next'],
    code: string,
    message: string,
    healthySince = 0,
  ): RecoveryResult => ({ next, code, message, polls, healthySince, ...seconds });

  if (judgement.kind === 'gone') return answer('release', judgement.code, judgement.message);
  if (judgement.kind === 'refuse') {
    const refused = answer('release', judgement.code, judgement.message);
    return { ...refused, ...scopeFields(judgement.scope) };
  }
  if (judgement.kind === 'healthy') {
    const healthySince = state.recovery?.healthySince || now;
    return now - healthySince >= timings.holdUp * 1000
      ? answer('recovered', 'recovered', judgement.message, healthySince)
      : answer('wait', 'hold-up', `healthy, for ${timings.holdUp} s to be sure`, healthySince);
  }
  const overdue = now >= holdDownEnd(facts);
  if (judgement.kind === 'wait') {
    return polls >= maxPolls(facts)
      ? {
          ...answer(
            judgement.doubt ? 'stay-isolated' : 'release',
            judgement.code,
            `gave up waiting: ${judgement.message}`,
          ),
          ...(judgement.doubt ? { doubt: true } : {}),
        }
      : answer('wait', judgement.code, judgement.message);
  }
  const wantsRestart = judgement.ladder.restartFirst || judgement.canaryFor !== undefined;
  // To evict its pod is more than to isolate the node.
  const mayRestart = judgement.reach === 'replace' && facts.restartable;
  if (wantsRestart && mayRestart && state.restart === undefined) {
    return answer('restart', 'restart', `restarting the pod of ${subjectOf(judgement.primary)}`);
  }
  if (!overdue) {
    return answer('wait', 'hold-down', judgement.primary.message);
  }
  if (judgement.reach === 'isolate') {
    return answer('stay-isolated', 'ceiling-isolate', isolationOnly(judgement.primary));
  }
  if (facts.irreplaceable !== null) {
    return answer('stay-isolated', facts.irreplaceable.code, facts.irreplaceable.message);
  }
  if (facts.approvals === 'always' && !isConsent(state.answer?.decision)) {
    return answer('ask', 'approval', 'the policy asks a person before the node is drained');
  }
  if (judgement.ladder.drainBeforeTaint && state.drain === undefined) {
    return answer('drain', 'drain-for-room', 'draining first, since room may cure it');
  }
  return answer('taint', 'hold-down-over', judgement.primary.message);
}

/** Epoch ms until which the node is only looked at: hold-down, and what a restart or room needs. */
export function holdDownEnd(facts: Pick<RecoveryFacts, 'judgement' | 'state' | 'timings'>): number {
  const { state, timings } = facts;
  const isolatedAt = state.isolation?.at ?? 0;
  const ends = [isolatedAt + holdDownOf(facts) * 1000];
  if (state.restart !== undefined) ends.push(state.restart.at + timings.podGrace * 1000);
  // Room was made: the pod gets the time to use it.
  if (state.drain?.next === 'recheck') ends.push(state.drain.drainedAt + timings.podGrace * 1000);
  return Math.max(...ends);
}

/** Seconds: longer for a node that is not Ready, which may come back or be repaired by others. */
function holdDownOf({
  judgement,
  state,
  timings,
}: Pick<RecoveryFacts, 'judgement' | 'state' | 'timings'>): number {
  const notReady =
    judgement.kind === 'act'
      ? judgement.ladder.secondObserver
      : state.confirm?.cause === 'node-not-ready';
  return notReady ? timings.holdDownNodeNotReady : timings.holdDown;
}

/** Whoever answers a blocked drain with going on has agreed to the drain. */
function isConsent(decision: string | undefined): boolean {
  return decision === 'approve' || decision === 'retry' || decision === 'proceed';
}

/** The polls of the longest regular wait: hold-down, after a restart, after a drain, hold-up. */
function maxPolls(facts: RecoveryFacts): number {
  const { state, timings } = facts;
  const wait = Math.max(1, state.isolation?.waitSeconds ?? timings.poll);
  return Math.ceil((holdDownOf(facts) + 2 * timings.podGrace + timings.holdUp) / wait) + 4;
}

function isolationOnly(fault: Fault): string {
  const lowered = isConditionFault(fault) ? fault.loweredBecause : undefined;
  return lowered ?? `the configuration allows no more than isolation for ${faultText(fault)}`;
}
