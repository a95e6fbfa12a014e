/**
 * What comes after a breaker has closed: new work begins at a measured pace, not all at once.
 *
 * How it works: a scope that was above its limit is open until its cool-down is over, then reopens
 * for as long as it had been open (within bounds), then is forgotten. While it reopens, one new
 * node is begun in it every interval. Which node that is, is not planned: whoever asks first when
 * the pace allows it is judged on what is read then, so there is no backlog to work off.
 */
import { isoTime } from '../clock.ts';
import type { BreakerConfig } from '../config/model.ts';
import type { Condition, Write } from '../ports.ts';
import type { BreakerState, MeasuredState } from './breaker.ts';
import { measuredKey } from './keys.ts';
import { labelOf, type Scope, sameScope } from './scope.ts';

/** `open` includes the cool-down. */
export type Phase = 'open' | 'reopening' | 'over';

export function phaseOf(
  state: Pick<MeasuredState, 'closesAt' | 'reopenUntil'>,
  now: number,
): Phase {
  if (now < state.closesAt) return 'open';
  return now < state.reopenUntil ? 'reopening' : 'over';
}

/** Until when a scope reopens that was open from `openedAt` to `closesAt`. All epoch ms. */
export function reopenUntil(
  { openedAt, closesAt }: Pick<MeasuredState, 'openedAt' | 'closesAt'>,
  reopenForMs: number,
): number {
  return closesAt + Math.min(closesAt - openedAt, reopenForMs);
}

/** The states among the scopes of a node that reopen, when there is a pace. */
export function reopeningOf(
  scopes: readonly Scope[],
  states: readonly BreakerState[],
  now: number,
  limits: Pick<BreakerConfig, 'reopenInterval'>,
): MeasuredState[] {
  if (limits.reopenInterval === 0) return [];
  return states.filter(
    (state): state is MeasuredState =>
      state.source === 'measured' &&
      phaseOf(state, now) === 'reopening' &&
      scopes.some((scope) => sameScope(scope, state)),
  );
}

export interface PaceRefusal {
  kind: 'refused';
  code: 'breaker-reopening';
  message: string;
  /** Epoch ms when the next node may be begun. */
  retryAt: number;
  scope: Scope;
}

/** The scope whose pace forbids a new node now, or undefined when one may be begun. */
export function judgePace(
  scopes: readonly Scope[],
  states: readonly BreakerState[],
  now: number,
  limits: Pick<BreakerConfig, 'reopenInterval'>,
): PaceRefusal | undefined {
  const intervalMs = limits.reopenInterval * 1000;
  const waits = reopeningOf(scopes, states, now, limits).flatMap((state) => {
    const { lastBegunAt, kind, name } = state;
    if (lastBegunAt === undefined || now >= lastBegunAt + intervalMs) return [];
    const retryAt = Math.min(lastBegunAt + intervalMs, state.reopenUntil);
    const message = `${labelOf(state)}: reopens until ${isoTime(state.reopenUntil)} after ${minutes(state.closesAt - state.openedAt)} above its limit or cooling down; one new node every ${minutes(intervalMs)}, the last at ${isoTime(lastBegunAt)}, the next from ${isoTime(retryAt)}`;
    return [
      {
        kind: 'refused',
        code: 'breaker-reopening',
        message,
        retryAt,
        scope: { kind, name },
      } as const,
    ];
  });
  // The longest wait is the one that counts: the others are over by then.
  return waits.toSorted((a, b) => b.retryAt - a.retryAt)[0];
}

/**
 * The write by which a new node takes its turn in a scope that reopens. It fails when the breaker
 * has opened again meanwhile, or another node was faster.
 */
export function takeTurn(
  cluster: string,
  state: MeasuredState,
  now: number,
  limits: Pick<BreakerConfig, 'reopenInterval'>,
): Write {
  const isFree: Condition = {
    kind: 'any',
    of: [
      { kind: 'attribute-absent', attribute: 'lastBegunAt' },
      {
        kind: 'less-than',
        attribute: 'lastBegunAt',
        value: now - limits.reopenInterval * 1000 + 1,
      },
    ],
  };
  return {
    kind: 'update',
    key: measuredKey(cluster, state),
    set: { lastBegunAt: now },
    condition: {
      kind: 'all',
      of: [
        { kind: 'present' },
        { kind: 'less-than', attribute: 'closesAt', value: now + 1 },
        isFree,
      ],
    },
  };
}

function minutes(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${Math.round(ms / 1000)} s`;
}
