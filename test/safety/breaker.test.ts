import { describe, expect, it } from 'vitest';
import {
  type BreakerState,
  breakerNews,
  judgeBreaker,
  judgeBreakerStates,
  loadBreakerStates,
  type MeasuredState,
  nextBreakerStates,
  type ScopeCount,
  saveBreakerStates,
} from '../../lib/safety/breaker.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { CLUSTER_SCOPE } from '../../lib/safety/scope.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { countsOf } from './samples.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const coolDownMs = 600_000;
const minute = 60_000;

/** The count of a pool of `total` nodes, `unhealthy` of them with a gap. */
function poolCount(unhealthy: number, total: number, percent = 20): ScopeCount {
  const counts = countsOf({
    percent,
    nodes: Array.from({ length: total }, (_, n) => ({
      name: `n${n}`,
      pool: 'general',
      unhealthy: n < unhealthy,
    })),
  });
  const count = counts.find(({ kind }) => kind === 'pool');
  if (count === undefined) throw new Error('the pool was not counted');
  return count;
}

describe('the breaker by k unhealthy of n (case C57)', () => {
  const sizes = [1, 2, 3, 4, 5, 6, 10];
  const table = sizes.flatMap((total) =>
    Array.from({ length: total + 1 }, (_, unhealthy) => ({ unhealthy, total })),
  );
  it.each(table)('judges $unhealthy of $total', ({ unhealthy, total }) => {
    const allowed = unhealthy <= 1 || unhealthy * 100 <= 20 * total;
    const verdict = judgeBreaker([poolCount(unhealthy, total)], [], now);
    expect(verdict.kind).toBe(allowed ? 'closed' : 'open');
  });

  it.each([
    [1, 1, 'closed'],
    [1, 3, 'closed'],
    [2, 3, 'open'],
    [1, 4, 'closed'],
    [2, 4, 'open'],
    [1, 5, 'closed'],
    [2, 6, 'open'],
    [2, 10, 'closed'],
    [3, 10, 'open'],
  ])('judges %i of %i as the case says: %s', (unhealthy, total, expected) => {
    expect(judgeBreaker([poolCount(unhealthy, total)], [], now).kind).toBe(expected);
  });

  it('allows exactly 20 % and nothing more, in a large pool', () => {
    expect(judgeBreaker([poolCount(200, 1_000)], [], now).kind).toBe('closed');
    expect(judgeBreaker([poolCount(201, 1_000)], [], now).kind).toBe('open');
    expect(judgeBreaker([poolCount(1, 9)], [], now).kind).toBe('closed');
    expect(judgeBreaker([poolCount(2, 9)], [], now).kind).toBe('open');
  });

  it('never lets anything through at 0 %', () => {
    expect(judgeBreaker([poolCount(1, 100, 0)], [], now)).toMatchObject({
      kind: 'open',
      code: 'breaker-open',
      message:
        'pool general: 1 of 100 nodes unhealthy, limit 0 (0 %: never act); open because 1 > 0',
    });
  });

  it('lets everything through at 100 %', () => {
    expect(judgeBreaker([poolCount(10, 10, 100)], [], now).kind).toBe('closed');
  });
});

describe('judgeBreaker', () => {
  it('says limit, rounding and comparison with the numbers', () => {
    expect(judgeBreaker([poolCount(3, 10)], [], now, coolDownMs)).toEqual({
      kind: 'open',
      scope: { kind: 'pool', name: 'general' },
      code: 'breaker-open',
      message:
        'pool general: 3 of 10 nodes unhealthy, limit 2 (20 % of 10, rounded down, at least 1); open because 3 > 2',
      retryAt: now + coolDownMs,
    });
  });

  const cooling: BreakerState = {
    source: 'measured',
    kind: 'pool',
    name: 'general',
    openedAt: now - 5 * minute,
    lastAboveAt: now - 4 * minute,
    closesAt: now + 6 * minute,
    reopenUntil: now + 6 * minute,
    total: 10,
    unhealthy: 3,
    limit: 2,
    unhealthyNodes: ['n0', 'n1', 'n2'],
  };
  const trip: BreakerState = {
    source: 'manual',
    kind: 'cluster',
    name: 'cluster',
    trippedAt: now - minute,
    by: 'ana',
    reason: 'upgrade of the CNI',
  };

  it('stays open through the cool-down, and closes at its very end', () => {
    const counts = [poolCount(1, 10)];
    expect(judgeBreaker(counts, [cooling], now)).toEqual({
      kind: 'open',
      scope: { kind: 'pool', name: 'general' },
      code: 'breaker-cooling',
      message:
        'pool general: cools down until 2026-11-30T12:06:00Z; last above its limit at 2026-11-30T11:56:00Z, with 3 of 10 nodes unhealthy, limit 2',
      retryAt: now + 6 * minute,
    });
    expect(judgeBreaker(counts, [cooling], cooling.closesAt - 1).kind).toBe('open');
    expect(judgeBreaker(counts, [cooling], cooling.closesAt).kind).toBe('closed');
  });

  it('puts a trip by a person before what was counted, and that before a cool-down', () => {
    const counts = countsOf({
      nodes: [
        { name: 'a', pool: 'general', zone: 'z', unhealthy: true },
        { name: 'b', pool: 'general', zone: 'z', unhealthy: true },
      ],
    });
    expect(judgeBreaker(counts, [cooling, trip], now)).toMatchObject({
      code: 'breaker-tripped',
      scope: { kind: 'cluster', name: 'cluster' },
      message: 'cluster: breaker tripped by ana: upgrade of the CNI',
    });
    expect(judgeBreaker(counts, [cooling], now)).toMatchObject({ code: 'breaker-open' });
  });

  it('does not mind states of other scopes', () => {
    const other = { ...cooling, name: 'gpu' };
    expect(judgeBreaker([poolCount(1, 10)], [other, trip], now).kind).toBe('closed');
  });

  it('judges scopes by their states alone where nothing was counted', () => {
    const scopes = [{ kind: 'pool' as const, name: 'general' }, CLUSTER_SCOPE];
    expect(judgeBreakerStates(scopes, [cooling], now)).toMatchObject({ code: 'breaker-cooling' });
    expect(judgeBreakerStates(scopes, [cooling, trip], now)).toMatchObject({
      code: 'breaker-tripped',
    });
    expect(judgeBreakerStates([CLUSTER_SCOPE], [cooling], now)).toEqual({ kind: 'closed' });
  });
});

describe('nextBreakerStates', () => {
  const above = poolCount(3, 10);
  const below = poolCount(2, 10);

  it('opens above the limit, with the numbers of that moment', () => {
    expect(nextBreakerStates([], [above], now, coolDownMs)).toEqual([
      {
        source: 'measured',
        kind: 'pool',
        name: 'general',
        openedAt: now,
        lastAboveAt: now,
        closesAt: now + coolDownMs,
        reopenUntil: now + coolDownMs,
        total: 10,
        unhealthy: 3,
        limit: 2,
        percent: 20,
        why: 'open because 3 > 2',
        unhealthyNodes: ['n0', 'n1', 'n2'],
      },
    ]);
    expect(nextBreakerStates([], [below], now, coolDownMs)).toEqual([]);
  });

  it('counts the cool-down from the last time above, and keeps when it opened', () => {
    const opened = nextBreakerStates([], [above], now, coolDownMs);
    const again = nextBreakerStates(opened, [above], now + 9 * minute, coolDownMs);
    expect(again).toMatchObject([{ openedAt: now, closesAt: now + 19 * minute }]);
    const cooling = nextBreakerStates(again, [below], now + 18 * minute, coolDownMs);
    expect(cooling).toEqual(again);
    expect(nextBreakerStates(cooling, [below], now + 19 * minute, coolDownMs)).toEqual([]);
  });

  it('keeps an open scope that is counted no more until it has cooled down', () => {
    const opened = nextBreakerStates([], [above], now, coolDownMs);
    expect(nextBreakerStates(opened, [], now + minute, coolDownMs)).toEqual(opened);
    expect(nextBreakerStates(opened, [], now + coolDownMs, coolDownMs)).toEqual([]);
  });

  it('tells what is open and what has closed', () => {
    const opened = nextBreakerStates([], [above], now, coolDownMs);
    const still = nextBreakerStates(opened, [above], now + minute, coolDownMs);
    const cooling = nextBreakerStates(still, [below], now + 2 * minute, coolDownMs);
    const closed = nextBreakerStates(cooling, [below], now + 20 * minute, coolDownMs);
    expect(breakerNews([], opened, now)).toEqual({ open: opened, closed: [] });
    expect(breakerNews(opened, still, now + minute)).toEqual({ open: still, closed: [] });
    expect(breakerNews(still, cooling, now + 2 * minute)).toEqual({ open: cooling, closed: [] });
    expect(breakerNews(cooling, closed, now + 20 * minute)).toEqual({ open: [], closed: cooling });
  });
});

describe('stored breaker states', () => {
  it('come back as they were saved, with the trips of persons, which saving leaves alone', async () => {
    const table = new MemoryTable();
    const holds = new Holds(table, { now: () => now });
    await holds.trip({ cluster: 'prod', scope: CLUSTER_SCOPE, by: 'ana', reason: 'look first' });
    const tripped = await loadBreakerStates(table, 'prod');
    expect(tripped).toMatchObject([{ source: 'manual', kind: 'cluster', by: 'ana' }]);

    const counts = countsOf({
      nodes: [
        { name: 'a', pool: 'x', zone: 'z', unhealthy: true },
        { name: 'b', pool: 'x', zone: 'z', unhealthy: true },
      ],
    });
    const next = nextBreakerStates(tripped, counts, now, coolDownMs);
    await saveBreakerStates(table, 'prod', tripped, next);
    const loaded = await loadBreakerStates(table, 'prod');
    expect(loaded).toHaveLength(4);
    expect(loaded).toEqual(expect.arrayContaining(next));

    const later = nextBreakerStates(loaded, [], now + coolDownMs, coolDownMs);
    await saveBreakerStates(table, 'prod', loaded, later);
    await expect(loadBreakerStates(table, 'prod')).resolves.toEqual(tripped);
    await expect(loadBreakerStates(table, 'other')).resolves.toEqual([]);
  });

  it('are saved also where a cluster has more scopes than a transaction has room', async () => {
    const table = new MemoryTable();
    const states = Array.from(
      { length: 150 },
      (_, n): MeasuredState => ({
        source: 'measured',
        kind: 'pool',
        name: `pool-${n}`,
        openedAt: now,
        lastAboveAt: now,
        closesAt: now + 1,
        reopenUntil: now + 1,
        total: 2,
        unhealthy: 2,
        limit: 1,
        unhealthyNodes: [],
      }),
    );
    await saveBreakerStates(table, 'prod', [], states);
    await expect(loadBreakerStates(table, 'prod')).resolves.toHaveLength(150);
  });
});
