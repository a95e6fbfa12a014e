import { describe, expect, it } from 'vitest';
import type { Slot } from '../../lib/safety/slot-items.ts';
import { judgeHour, judgeSlot, type SlotFacts } from '../../lib/safety/slot-judge.ts';
import { breakerLimits, countsOf, slotRequest } from './samples.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const hour = 3_600_000;

/** Two pools of ten healthy nodes: the limit is 2 in a pool and 4 in the cluster. */
const counts = countsOf({
  nodes: ['p', 'q'].flatMap((pool) =>
    Array.from({ length: 10 }, (_, n) => ({ name: `${pool}${n}`, pool })),
  ),
});

function slot(node: string, pool: string): Slot {
  return {
    cluster: 'prod',
    node,
    nodeUid: `uid-${node}`,
    pool,
    execution: `execution-of-${node}`,
    episode: 1,
    attempt: 1,
    fence: 1,
    acquiredAt: now,
  };
}

function facts(
  overrides: Partial<SlotFacts> & { inWork?: string[]; working?: string[] },
): SlotFacts {
  const { inWork = [], working = [], ...rest } = overrides;
  return {
    now,
    places: { version: 1, fence: 1, inWork: new Set(inWork), working: new Set(working) },
    slots: [],
    gate: { hold: undefined, breakerStates: [], badReplacements: 0 },
    canary: undefined,
    commits: [],
    limits: { ...breakerLimits, parallelPerPool: 9, parallelPerCluster: 9 },
    ...rest,
  };
}

const request = slotRequest({ node: 'p0', pool: 'p', counts, countedAt: now });

describe('judgeSlot', () => {
  it('finds nothing against a slot in a quiet cluster', () => {
    expect(judgeSlot(request, facts({}))).toBeUndefined();
  });

  it('counts slots of the same pool, not those of another', () => {
    expect(
      judgeSlot(request, facts({ slots: [slot('p1', 'p'), slot('q1', 'q')] })),
    ).toBeUndefined();
    expect(judgeSlot(request, facts({ slots: [slot('p1', 'p'), slot('p2', 'p')] }))).toMatchObject({
      code: 'breaker-open',
      scope: { kind: 'pool', name: 'p' },
    });
  });

  it('counts a place whose slot cannot be seen, in whatever pool it may be', () => {
    expect(judgeSlot(request, facts({ inWork: ['uid-1'] }))).toBeUndefined();
    expect(judgeSlot(request, facts({ inWork: ['uid-1', 'uid-2'] }))).toMatchObject({
      code: 'breaker-open',
    });
    const limits = { ...breakerLimits, parallelPerPool: 1 };
    expect(judgeSlot(request, facts({ working: ['uid-1'], limits }))).toMatchObject({
      code: 'pool-parallel-cap',
    });
  });

  it('does not count the node that asks twice', () => {
    expect(
      judgeSlot(request, facts({ inWork: ['uid-p0'], slots: [slot('p1', 'p')] })),
    ).toBeUndefined();
  });

  it('puts the reasons in order: busy, counts, pause, breaker, bad replacements, canary, caps', () => {
    const all = facts({
      slots: [slot('p0', 'p')],
      working: ['uid-1', 'uid-2', 'uid-3'],
      inWork: ['uid-1', 'uid-2', 'uid-3'],
      gate: {
        hold: { code: 'paused', message: 'paused' },
        breakerStates: [],
        badReplacements: 2,
      },
      canary: {
        canary: {
          daemonSet: 'ns/ds',
          node: 'x',
          nodeUid: 'uid-x',
          execution: 'e',
          takenAt: now,
          state: 'taken',
          blockedUntil: 0,
        },
        episodeClosed: false,
      },
      limits: breakerLimits,
      commits: [now, now, now, now, now],
    });
    const canaryRequest = { ...request, canaryFor: 'ns/ds' };
    const code = (stale: boolean, known: SlotFacts) =>
      judgeSlot({ ...canaryRequest, countedAt: stale ? 0 : now }, known)?.code;
    let known = all;
    expect(code(true, known)).toBe('node-busy');
    known = { ...known, slots: [] };
    expect(code(true, known)).toBe('counts-stale');
    expect(code(false, known)).toBe('paused');
    known = { ...known, gate: { ...known.gate, hold: undefined } };
    expect(code(false, known)).toBe('breaker-open');
    known = { ...known, places: { ...known.places, inWork: new Set() } };
    expect(code(false, known)).toBe('bad-replacements');
    known = { ...known, gate: { ...known.gate, badReplacements: 1 } };
    expect(code(false, known)).toBe('canary-taken');
    known = { ...known, canary: undefined };
    expect(code(false, known)).toBe('pool-parallel-cap');
    known = { ...known, limits: { ...known.limits, parallelPerPool: 9 } };
    expect(code(false, known)).toBe('cluster-parallel-cap');
    known = { ...known, places: { ...known.places, working: new Set() } };
    expect(code(false, known)).toBe('hourly-cap');
    known = { ...known, commits: [] };
    expect(code(false, known)).toBeUndefined();
  });
});

describe('judgeHour', () => {
  const limits = { ...breakerLimits, replacementsPerHour: 2 };

  it('forgets a replacement an hour after it', () => {
    expect(judgeHour({ commits: [now - hour, now], limits, now })).toBeUndefined();
    expect(judgeHour({ commits: [now - hour + 1, now], limits, now })).toMatchObject({
      code: 'hourly-cap',
      retryAt: now + 1,
    });
  });

  it('waits for as many as are above a limit that was lowered', () => {
    const commits = [now - 3, now - 1, now - 2];
    expect(judgeHour({ commits, limits, now })).toMatchObject({ retryAt: now - 2 + hour });
  });

  it('knows no end where no replacement is allowed', () => {
    const none = judgeHour({ commits: [], limits: { ...limits, replacementsPerHour: 0 }, now });
    expect(none).toEqual({
      kind: 'refused',
      code: 'hourly-cap',
      message:
        'cluster: 0 replacements within the last hour, limit 0 (breaker.replacementsPerHour); refused because 0 >= 0',
    });
  });
});
