import { isoTime } from '../clock.ts';
import type { Config } from '../config/model.ts';
import { count } from '../gap/words.ts';
import type { DrainBlocker, DrainProgress, GuardRefusal } from './drain.ts';
import { secondsToNextLook } from './pace.ts';
import { type DrainResult, scopeFields, type WorkflowState } from './workflow-state.ts';

/** Blockers that no waiting removes. */
const permanent: readonly DrainBlocker['kind'][] = ['several-budgets', 'needs-approval'];

/** Past the end of the longest grace period, before a pod counts as stuck. */
const graceMarginMs = 60_000;

/**
 * When this drain began: it goes on only from a pass that was draining. A person's retry, the drain
 * after a recheck and the one after a turn back into hold-down begin anew.
 */
export function drainStart(state: WorkflowState, now: number): number {
  return state.drain?.next === 'draining' ? state.drain.startedAt : now;
}

/**
 * Decides what follows one pass of the drain. It is bounded by the configured time, stretched for
 * pods that are on their way out within their own grace period, and ends at once when only a
 * person can take what is left out of the way.
 */
export function decideDrain(
  progress: DrainProgress,
  state: WorkflowState,
  config: Pick<Config, 'timings' | 'approvals'>,
  now: number,
): DrainResult {
  const { timings } = config;
  const startedAt = drainStart(state, now);
  const passes = startedAt === now ? 1 : (state.drain?.passes ?? 0) + 1;
  const result: Answer = (next, code, message, extra = {}) => ({
    next,
    code,
    message,
    firstAt: state.drain?.firstAt ?? startedAt,
    startedAt,
    drainedAt: 0,
    passes,
    healthySince: 0,
    remaining: 0,
    waitSeconds: timings.poll,
    approvalSeconds: timings.approval,
    ...extra,
  });

  switch (progress.kind) {
    case 'node-gone':
    case 'node-recreated':
      return result('release', progress.kind, `${state.node}: ${progress.kind}`);
    case 'refused':
      return refused(progress.refusal, state, startedAt, timings, now, result);
    case 'drained':
      return state.taint === undefined
        ? result('recheck', 'drained-for-room', 'drained; looking whether room cured it', {
            drainedAt: now,
          })
        : result('drained', 'drained', 'every pod that was to leave has left', { drainedAt: now });
    case 'draining': {
      const { remaining, blockers } = progress;
      const onlyPersonHelps =
        blockers.length === remaining && blockers.every(({ kind }) => permanent.includes(kind));
      const end = Math.max(
        startedAt + timings.drain * 1000,
        blockers.length === 0 ? (progress.graceEndsAt ?? 0) + graceMarginMs : 0,
      );
      if (onlyPersonHelps || now >= end) {
        const asks = config.approvals.policy !== 'never';
        const message = blockedMessage(remaining, blockers);
        return result(asks ? 'blocked' : 'stay-isolated', 'drain-blocked', message, { remaining });
      }
      const paced = { waitedMs: now - startedAt, endsInMs: end - now };
      const message =
        blockers.length === 0
          ? `${count(remaining, 'pod')} still to leave`
          : blockedMessage(remaining, blockers);
      return result('draining', 'draining', message, {
        remaining,
        waitSeconds: secondsToNextLook({ ...paced, pollSeconds: progress.nextPollSeconds }),
      });
    }
  }
}

type Answer = (
  next: DrainResult['next'],
  code: string,
  message: string,
  extra?: Partial<DrainResult>,
) => DrainResult;

/** The guard said no. Health must last before it counts; doubt ends with the drain's time. */
function refused(
  refusal: GuardRefusal,
  state: WorkflowState,
  startedAt: number,
  timings: Config['timings'],
  now: number,
  result: Answer,
): DrainResult {
  const { code, message, passing, scope } = refusal;
  if (refusal.staysIsolated) return result('stay-isolated', code, message);
  if (passing === undefined) return result('release', code, message, scopeFields(scope));
  if (passing !== 'healthy') {
    if (now < startedAt + timings.drain * 1000) return result('draining', code, message);
    return result(passing === 'doubt' ? 'stay-isolated' : 'release', code, message);
  }
  const healthySince = state.drain?.healthySince || now;
  return now - healthySince >= timings.holdUp * 1000
    ? result('release', 'recovered', message, { healthySince })
    : result('draining', 'hold-up', 'healthy for the moment: nothing is evicted', { healthySince });
}

/** Names what is in the way: pod, budget, what it allows, since when. At most five of them. */
export function blockedMessage(remaining: number, blockers: DrainBlocker[]): string {
  const named = blockers
    .slice(0, 5)
    .map(
      ({ pod, message, since }) =>
        `${pod.namespace}/${pod.name} (${message}, since ${isoTime(since)})`,
    );
  const more = blockers.length > 5 ? ` and ${blockers.length - 5} more` : '';
  const what = named.length === 0 ? 'pods are slow to leave' : named.join('; ');
  return `${count(remaining, 'pod')} still to leave: ${what}${more}`;
}
