import { isoTime } from '../clock.ts';
import type { Timings } from '../config/model.ts';
import { count } from '../gap/words.ts';
import type { DrainBlocker, DrainProgress } from './drain.ts';
import type { DrainResult, WorkflowState } from './workflow-state.ts';

/** Blockers that no waiting removes. */
const permanent: readonly DrainBlocker['kind'][] = ['several-budgets', 'needs-approval'];

/** Past the end of the longest grace period, before a pod counts as stuck. */
const graceMarginMs = 60_000;

/** When this drain began: a person's retry and the drain after a recheck begin anew. */
export function drainStart(state: WorkflowState, now: number): number {
  const { drain } = state;
  return drain === undefined || drain.next === 'blocked' || drain.next === 'recheck'
    ? now
    : drain.startedAt;
}

/**
 * Decides what follows one pass of the drain. It is bounded by the configured time, stretched for
 * pods that are on their way out within their own grace period, and ends at once when only a
 * person can take what is left out of the way.
 */
export function decideDrain(
  progress: DrainProgress,
  state: WorkflowState,
  timings: Timings,
  now: number,
): DrainResult {
  const startedAt = drainStart(state, now);
  const passes = startedAt === now ? 1 : (state.drain?.passes ?? 0) + 1;
  const result = (
    next: DrainResult['next'],
    code: string,
    message: string,
    extra: Partial<DrainResult> = {},
  ): DrainResult => ({
    next,
    code,
    message,
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
      return held(progress.refusal, state, timings, now, startedAt, result);
    case 'drained':
      return state.taint === undefined
        ? result('recheck', 'drained-for-room', 'drained; looking whether room cured it', {
            drainedAt: now,
          })
        : result('drained', 'drained', 'every pod that was to leave has left', { drainedAt: now });
    case 'draining': {
      const { remaining, blockers, nextPollSeconds } = progress;
      const onlyPersonHelps =
        blockers.length === remaining && blockers.every(({ kind }) => permanent.includes(kind));
      const end = Math.max(
        startedAt + timings.drain * 1000,
        blockers.length === 0 ? (progress.graceEndsAt ?? 0) + graceMarginMs : 0,
      );
      return onlyPersonHelps || now >= end
        ? result('blocked', 'drain-blocked', blockedMessage(remaining, blockers), { remaining })
        : result('draining', 'draining', `${count(remaining, 'pod')} still to leave`, {
            remaining,
            waitSeconds: nextPollSeconds,
          });
    }
  }
}

/** The guard said no. Health must last before it counts, and doubt ends with the drain's time. */
function held(
  refusal: { code: string; message: string },
  state: WorkflowState,
  timings: Timings,
  now: number,
  startedAt: number,
  result: (
    next: DrainResult['next'],
    code: string,
    message: string,
    extra?: Partial<DrainResult>,
  ) => DrainResult,
): DrainResult {
  if (refusal.code !== 'recovered') {
    return result('release', refusal.code, refusal.message);
  }
  const healthySince = state.drain?.healthySince || now;
  const lasts = now - healthySince >= timings.holdUp * 1000;
  return lasts || now >= startedAt + timings.drain * 1000
    ? result('release', 'recovered', refusal.message, { healthySince })
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
