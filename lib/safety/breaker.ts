/**
 * The breaker: whether new work may begin in a pool, a zone and the cluster, by how many of their
 * nodes are unhealthy. Pure; scope-counts.ts counts, breaker-store.ts keeps the states.
 *
 * Gotchas: a node in work stays in `unhealthy` and `total` even when its object is gone, or
 * deleting nodes would close the breaker. The breaker opens above the limit, not at it. Once open
 * it stays so until a cool-down has passed since it was last seen above the limit.
 */
import { isoTime } from '../clock.ts';
import { labelOf, type Scope, type ScopeKind, sameScope } from './scope.ts';
import type { ScopeCount } from './scope-counts.ts';

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
  /** The numbers at `lastAboveAt`. */
  total: number;
  unhealthy: number;
  limit: number;
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
  code: 'breaker-open' | 'breaker-cooling' | 'breaker-tripped';
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
  const count = counts.find(isAbove);
  if (count === undefined) return undefined;
  const { kind, name } = count;
  const message = `${numbersOf(count)}; open because ${count.unhealthy} > ${count.limit}`;
  return { kind: 'open', scope: { kind, name }, code: 'breaker-open', message, retryAt };
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
      const message = `${labelOf(state)}: cools down until ${isoTime(state.closesAt)}; last above its limit at ${isoTime(state.lastAboveAt)}, with ${state.unhealthy} of ${state.total} nodes unhealthy, limit ${state.limit}`;
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
 * cool-down; one that cooled down is dropped. A person's trips are passed through.
 */
export function nextBreakerStates(
  previous: readonly BreakerState[],
  counts: readonly ScopeCount[],
  now: number,
  coolDownMs: number,
): BreakerState[] {
  const above = counts.filter(isAbove).map((count): MeasuredState => {
    const before = previous.find(
      (state): state is MeasuredState => state.source === 'measured' && sameScope(state, count),
    );
    return {
      source: 'measured',
      kind: count.kind,
      name: count.name,
      openedAt: before?.openedAt ?? now,
      lastAboveAt: now,
      closesAt: now + coolDownMs,
      total: count.total,
      unhealthy: count.unhealthy,
      limit: count.limit,
      unhealthyNodes: count.unhealthyNodes,
    };
  });
  const kept = previous.filter(
    (state) =>
      state.source === 'manual' ||
      (now < state.closesAt && !above.some((opened) => sameScope(opened, state))),
  );
  return [...kept, ...above];
}

/** Which scopes opened and which closed between two scans: people are told once of each. */
export function breakerTransitions(
  previous: readonly BreakerState[],
  next: readonly BreakerState[],
): { opened: MeasuredState[]; closed: MeasuredState[] } {
  const measured = (states: readonly BreakerState[]) =>
    states.filter((state): state is MeasuredState => state.source === 'measured');
  const missingFrom = (states: MeasuredState[]) => (state: MeasuredState) =>
    !states.some((other) => sameScope(other, state));
  const [before, after] = [measured(previous), measured(next)];
  return {
    opened: after.filter(missingFrom(before)),
    closed: before.filter(missingFrom(after)),
  };
}

function isAbove(count: ScopeCount): boolean {
  return count.unhealthy > count.limit;
}

function numbersOf(count: ScopeCount): string {
  const numbers = `${labelOf(count)}: ${count.unhealthy} of ${count.total} nodes unhealthy, limit ${count.limit}`;
  if (count.percent === undefined) return numbers;
  return count.percent === 0
    ? `${numbers} (0 %: never act)`
    : `${numbers} (${count.percent} % of ${count.total}, rounded down, at least 1)`;
}
