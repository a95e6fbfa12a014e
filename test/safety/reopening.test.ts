import { describe, expect, it } from 'vitest';
import {
  type BreakerState,
  breakerNews,
  type MeasuredState,
  nextBreakerStates,
} from '../../lib/safety/breaker.ts';
import { loadBreakerStates, saveBreakerStates } from '../../lib/safety/breaker-store.ts';
import { judgePace, phaseOf, reopenUntil } from '../../lib/safety/reopening.ts';
import { CLUSTER_SCOPE, type Scope } from '../../lib/safety/scope.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { breakerLimits, countsOf, slotRequest } from './samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const minute = 60_000;
const pool: Scope = { kind: 'pool', name: 'general' };

/** Open from 12:00 to 12:20, reopening until 12:40. */
const storm: MeasuredState = {
  source: 'measured',
  ...pool,
  openedAt: start,
  lastAboveAt: start + 10 * minute,
  closesAt: start + 20 * minute,
  reopenUntil: start + 40 * minute,
  total: 10,
  unhealthy: 3,
  limit: 2,
  unhealthyNodes: [],
};

describe('a scope that was above its limit', () => {
  it.each([
    ['a short storm', 11, 60, 11],
    ['as long as it was open', 45, 60, 45],
    ['no longer than is configured', 180, 60, 60],
    ['not at all when it is switched off', 180, 0, 0],
  ])('reopens: %s', (_what, openFor, atMost, expected) => {
    const closesAt = start + openFor * minute;
    expect(reopenUntil({ openedAt: start, closesAt }, atMost * minute)).toBe(
      closesAt + expected * minute,
    );
  });

  it.each([
    [19, 'open'],
    [20, 'reopening'],
    [39, 'reopening'],
    [40, 'over'],
  ])('is after %i minutes %s', (after, phase) => {
    expect(phaseOf(storm, start + after * minute)).toBe(phase);
  });
});

describe('judgePace', () => {
  const limits = { reopenInterval: 300 };
  const begunAt = (after: number): MeasuredState => ({
    ...storm,
    lastBegunAt: start + after * minute,
  });

  it.each<[string, BreakerState[], number, number | undefined]>([
    ['nothing is remembered', [], 22, undefined],
    ['the breaker is still open, which is its own refusal', [storm], 19, undefined],
    ['it has just closed and nothing was begun', [storm], 20, undefined],
    ['a node was begun a moment ago', [begunAt(21)], 22, 26],
    ['a node was begun nearly an interval ago', [begunAt(21)], 25, 26],
    ['a node was begun an interval ago', [begunAt(21)], 26, undefined],
    ['the reopening ends before the interval does', [begunAt(38)], 39, 40],
    ['it is over', [begunAt(38)], 40, undefined],
    ['another pool reopens', [{ ...begunAt(21), name: 'gpu' }], 22, undefined],
    [
      'pool and cluster reopen: the longer wait counts',
      [begunAt(21), { ...begunAt(22), ...CLUSTER_SCOPE }],
      23,
      27,
    ],
  ])('when %s', (_what, states, after, next) => {
    const refusal = judgePace([pool, CLUSTER_SCOPE], states, start + after * minute, limits);
    expect(refusal?.retryAt).toBe(next === undefined ? undefined : start + next * minute);
  });

  it('says the pace with its times', () => {
    expect(judgePace([pool], [begunAt(21)], start + 22 * minute, limits)).toEqual({
      kind: 'refused',
      code: 'breaker-reopening',
      scope: pool,
      retryAt: start + 26 * minute,
      message:
        'pool general: reopens until 2026-11-30T12:40:00Z after 20 min above its limit or cooling down; one new node every 5 min, the last at 2026-11-30T12:21:00Z, the next from 2026-11-30T12:26:00Z',
    });
  });

  it('knows no pace at an interval of 0 s', () => {
    const now = start + 22 * minute;
    expect(judgePace([pool], [begunAt(21)], now, { reopenInterval: 0 })).toBeUndefined();
  });
});

describe('a storm, scan by scan', () => {
  const nodes = (unhealthy: number) =>
    countsOf({
      nodes: Array.from({ length: 10 }, (_, n) => ({
        name: `n${n}`,
        pool: 'general',
        unhealthy: n < unhealthy,
      })),
    }).filter(({ kind }) => kind === 'pool');
  const scan = (before: BreakerState[], unhealthy: number, after: number) =>
    nextBreakerStates(before, nodes(unhealthy), start + after * minute, 10 * minute, 60 * minute);

  it('opens, cools down, reopens and is forgotten', () => {
    const open = scan([], 3, 0);
    const still = scan(open, 3, 5);
    expect(still).toMatchObject([
      { closesAt: start + 15 * minute, reopenUntil: start + 30 * minute },
    ]);
    const reopening = scan(still, 1, 16);
    expect(reopening).toEqual(still);
    expect(scan(reopening, 1, 29)).toEqual(still);
    expect(scan(reopening, 1, 30)).toEqual([]);
  });

  it('is another storm when it opens again while it reopens', () => {
    const reopening = scan(scan([], 3, 0), 1, 11);
    const again = scan(reopening, 3, 12);
    expect(again).toMatchObject([{ openedAt: start + 12 * minute }]);
    expect(breakerNews(reopening, again, start + 12 * minute)).toEqual({ open: again, closed: [] });
  });

  it('has closed for as long as it reopens, in what people are told', () => {
    const open = scan([], 3, 0);
    const reopening = scan(open, 1, 11);
    const at = start + 11 * minute;
    expect(breakerNews(open, reopening, at)).toEqual({ open: [], closed: reopening });
    expect(breakerNews(reopening, scan(reopening, 1, 25), start + 25 * minute)).toMatchObject({
      open: [],
      closed: [{ name: 'general' }],
    });
  });
});

describe('slots in a scope that reopens', () => {
  async function reopened() {
    const table = new MemoryTable();
    await saveBreakerStates(table, 'prod', [], [storm]);
    let now = start + 20 * minute;
    const clock = { now: () => now };
    const limits = {
      ...breakerLimits,
      maxUnhealthyPercent: 100,
      parallelPerPool: 9,
      parallelPerCluster: 9,
    };
    const slots = new Slots(table, clock, limits, {
      random: () => 0,
      sleep: async () => undefined,
    });
    const acquire = (node: string) =>
      slots.acquire({
        ...slotRequest({
          node,
          pool: 'general',
          counts: countsOf({
            percent: 100,
            nodes: Array.from({ length: 10 }, (_, n) => ({ name: `n${n}`, pool: 'general' })),
          }),
          countedAt: now,
        }),
      });
    return {
      table,
      slots,
      acquire,
      at: (after: number) => {
        now = start + after * minute;
      },
    };
  }

  it('are given one an interval, and freely when it is over', async () => {
    const { acquire, at } = await reopened();
    await expect(acquire('n0')).resolves.toMatchObject({ kind: 'acquired' });
    await expect(acquire('n1')).resolves.toMatchObject({
      code: 'breaker-reopening',
      retryAt: start + 25 * minute,
    });
    at(25);
    await expect(acquire('n1')).resolves.toMatchObject({ kind: 'acquired' });
    await expect(acquire('n2')).resolves.toMatchObject({ code: 'breaker-reopening' });
    at(40);
    for (const node of ['n2', 'n3']) {
      await expect(acquire(node)).resolves.toMatchObject({ kind: 'acquired' });
    }
  });

  it('go to one of those who ask at once', async () => {
    const { acquire } = await reopened();
    const asked = await Promise.all(['n0', 'n1', 'n2', 'n3'].map(acquire));
    expect(asked.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
  });

  it('keep the pace after one is given back at once: nothing is made up for', async () => {
    const { acquire, slots, at } = await reopened();
    await acquire('n0');
    await slots.release({ cluster: 'prod', nodeUid: 'uid-n0', execution: 'execution-of-n0' });
    at(22);
    await expect(acquire('n1')).resolves.toMatchObject({ code: 'breaker-reopening' });
  });

  it('keep their pace through a scan that saves the states at the same time', async () => {
    const { acquire, table } = await reopened();
    const before = await loadBreakerStates(table, 'prod');
    await acquire('n0');
    const kept = nextBreakerStates(before, [], start + 20 * minute, 0, 0);
    await saveBreakerStates(table, 'prod', before, kept);
    await expect(acquire('n1')).resolves.toMatchObject({ code: 'breaker-reopening' });
  });

  it('are not needed to commit what was begun', async () => {
    const { acquire, slots } = await reopened();
    const acquired = await acquire('n0');
    const fence = acquired.kind === 'acquired' ? acquired.fence : 0;
    await expect(
      slots.commit({ cluster: 'prod', nodeUid: 'uid-n0', execution: 'execution-of-n0', fence }),
    ).resolves.toEqual({ kind: 'committed' });
  });
});
