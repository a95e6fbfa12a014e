/**
 * The breaker: whether new work may begin in a pool, a zone and the cluster, by how many of their
 * nodes are unhealthy. Pure; scope-counts.ts counts, breaker-store.ts keeps the states.
 *
 * Gotchas: a node in work stays in `unhealthy` and `total` even when its object is gone, or
 * deleting nodes would close the breaker. The breaker opens above the limit, not at it. Once open
 * it stays so until a cool-down has passed since it was last seen above the limit; then it reopens
 * at a measured pace (reopening.ts).
 */
import { isoTime } from '../clock.ts';
import { limitText } from './limits-text.ts';
import { phaseOf, reopenUntil } from './reopening.ts';
import { labelOf, type Scope, type ScopeKind, sameScope } from './scope.ts';
import type { ScopeCount } from './scope-counts.ts';
import { isZoneSuspect, zoneRuleText } from './zone-rule.ts';

export { loadBreakerStates, saveBreakerStates } from './breaker-store.ts';
export type { NodeInWork, ScopeCount } from './scope-counts.ts';
export { breakerLimit, countScopes, countsFor } from './scope-counts.ts';
export type { Scope, ScopeKind };

const DEFAULT_COOL_DOWN_MS = 10 * 60_000;

/** What is remembered of the breaker of one scope. Times are epoch ms. */
export type BreakerState = MeasuredState | TrippedState;
export interface MeasuredState extends Scope {
  source: 'measured';
  openedAt: number;
  /** Last time that the scope was seen above its limit. */
  lastAboveAt: number;
  closesAt: number;
  /** Until then new work begins at a pace; not before `closesAt`. */
  reopenUntil: number;
  /** When the last new node was begun since it reopens. */
  lastBegunAt?: number;
  /** The numbers at `lastAboveAt`. */
  total: number;
  unhealthy: number;
  limit: number;
  percent?: number;
  most?: number;
  /** Why it is open, in words with the numbers. */
  why?: string;
  unhealthyNodes: string[];
}
export interface TrippedState extends Scope {
  source: 'manual';
  trippedAt: number;
  by: string;
  reason: string;
}

export type BreakerVerdict = { kind: 'closed' } | OpenBreaker;
export interface OpenBreaker {
  kind: 'open';
  scope: Scope;
  code: 'breaker-open' | 'breaker-zone' | 'breaker-cooling' | 'breaker-tripped';
  message: string;
  /** Epoch ms before which asking again is in vain. */
  retryAt: number;
}

/**
 * Whether new work may begin in all of the scopes of `counts` (see countsFor). A person's trip
 * comes first, then a scope above its limit, then one that cools down.
 */
export function judgeBreaker(
  counts: readonly ScopeCount[],
  states: readonly BreakerState[],
  now: number,
  coolDownMs: number = DEFAULT_COOL_DOWN_MS,
): BreakerVerdict {
  return (
    findTrip(counts, states, now + coolDownMs) ??
    findAbove(counts, now + coolDownMs) ??
    findCooling(counts, states, now) ?? { kind: 'closed' }
  );
}

/** The same without counts, by what persons and the last scans left behind. */
export function judgeBreakerStates(
  scopes: readonly Scope[],
  states: readonly BreakerState[],
  now: number,
  coolDownMs: number = DEFAULT_COOL_DOWN_MS,
): BreakerVerdict {
  return (
    findTrip(scopes, states, now + coolDownMs) ??
    findCooling(scopes, states, now) ?? { kind: 'closed' }
  );
}

function findTrip(
  scopes: readonly Scope[],
  states: readonly BreakerState[],
  retryAt: number,
): OpenBreaker | undefined {
  for (const { kind, name } of scopes) {
    for (const state of states) {
      if (state.source !== 'manual' || !sameScope(state, { kind, name })) continue;
      const message = `${labelOf(state)}: breaker tripped by ${state.by}: ${state.reason}`;
      return { kind: 'open', scope: { kind, name }, code: 'breaker-tripped', message, retryAt };
    }
  }
  return undefined;
}

function findAbove(counts: readonly ScopeCount[], retryAt: number): OpenBreaker | undefined {
  for (const count of counts) {
    const excess = excessOf(count, counts);
    if (excess === undefined) continue;
    const { kind, name } = count;
    const message = `${numbersOf(count)}; ${excess.why}`;
    return { kind: 'open', scope: { kind, name }, code: excess.code, message, retryAt };
  }
  return undefined;
}

/** Why a scope is to be open by its count, given those of the other scopes. */
function excessOf(
  count: ScopeCount,
  counts: readonly ScopeCount[],
): { code: 'breaker-open' | 'breaker-zone'; why: string } | undefined {
  const { unhealthy, limit } = count;
  if (unhealthy > limit) {
    return { code: 'breaker-open', why: `open because ${unhealthy} > ${limit}` };
  }
  const cluster = counts.find(({ kind }) => kind === 'cluster');
  return cluster !== undefined && isZoneSuspect(count, cluster)
    ? { code: 'breaker-zone', why: zoneRuleText(count, cluster) }
    : undefined;
}

function findCooling(
  scopes: readonly Scope[],
  states: readonly BreakerState[],
  now: number,
): OpenBreaker | undefined {
  for (const { kind, name } of scopes) {
    for (const state of states) {
      if (state.source !== 'measured' || !sameScope(state, { kind, name })) continue;
      if (now >= state.closesAt) continue;
      const message = `${labelOf(state)}: cools down until ${isoTime(state.closesAt)}; last above its limit at ${isoTime(state.lastAboveAt)}, with ${numbersIn(state)}${state.why === undefined ? '' : `; ${state.why}`}`;
      return {
        kind: 'open',
        scope: { kind, name },
        code: 'breaker-cooling',
        message,
        retryAt: state.closesAt,
      };
    }
  }
  return undefined;
}

/**
 * The states after a scan: a scope above its limit is open from now on, or stays so with a new
 * cool-down; one that cooled down reopens, and is dropped when that is over. A person's trips are
 * passed through. States that did not change are the same objects as before.
 */
export function nextBreakerStates(
  previous: readonly BreakerState[],
  counts: readonly ScopeCount[],
  now: number,
  coolDownMs: number,
  reopenForMs = 0,
): BreakerState[] {
  const above = counts.flatMap((count): MeasuredState[] => {
    const excess = excessOf(count, counts);
    if (excess === undefined) return [];
    const before = previous.find(
      (state): state is MeasuredState => state.source === 'measured' && sameScope(state, count),
    );
    // One that was reopening opens anew: that is another storm, and news.
    const goesOn = before !== undefined && phaseOf(before, now) === 'open';
    const openedAt = goesOn ? before.openedAt : now;
    const closesAt = now + coolDownMs;
    const { kind, name, total, unhealthy, limit, percent, most, unhealthyNodes } = count;
    return [
      {
        source: 'measured',
        kind,
        name,
        openedAt,
        lastAboveAt: now,
        closesAt,
        reopenUntil: reopenUntil({ openedAt, closesAt }, reopenForMs),
        total,
        unhealthy,
        limit,
        ...(percent === undefined ? {} : { percent }),
        ...(most === undefined ? {} : { most }),
        why: excess.why,
        unhealthyNodes,
      },
    ];
  });
  const kept = previous.filter(
    (state) =>
      state.source === 'manual' ||
      (phaseOf(state, now) !== 'over' && !above.some((opened) => sameScope(opened, state))),
  );
  return [...kept, ...above];
}

/**
 * Which scopes are open and which have closed, of what stands after a scan. One that reopens has
 * closed for as long as it does: whoever tells people of it tells it once.
 */
export function breakerNews(
  previous: readonly BreakerState[],
  next: readonly BreakerState[],
  now: number,
): { open: MeasuredState[]; closed: MeasuredState[] } {
  const measured = (states: readonly BreakerState[]) =>
    states.filter((state): state is MeasuredState => state.source === 'measured');
  const gone = measured(previous).filter(
    (state) => !measured(next).some((other) => sameScope(other, state)),
  );
  const inPhase = (phase: string) => measured(next).filter((each) => phaseOf(each, now) === phase);
  return { open: inPhase('open'), closed: [...inPhase('reopening'), ...gone] };
}

function numbersOf(count: ScopeCount): string {
  return `${labelOf(count)}: ${numbersIn(count)}`;
}

/** For example `3 of 10 nodes unhealthy, limit 2 (20 % of 10, rounded down, at least 1)`. */
export function numbersIn(count: Omit<ScopeCount, keyof Scope>): string {
  return `${count.unhealthy} of ${count.total} nodes unhealthy, ${limitText(count)}`;
}
