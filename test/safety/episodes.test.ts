import { beforeEach, describe, expect, it } from 'vitest';
import {
  type BreakerState,
  type MeasuredState,
  saveBreakerStates,
} from '../../lib/safety/breaker.ts';
import { type AttemptOutcome, Episodes } from '../../lib/safety/episodes.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { CLUSTER_SCOPE } from '../../lib/safety/scope.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const minute = 60_000;
const target = { cluster: 'prod', node: 'n1', nodeUid: 'uid-1' };

let now: number;
let table: MemoryTable;
let episodes: Episodes;
const clock = { now: () => now };

beforeEach(() => {
  now = start;
  table = new MemoryTable();
  episodes = new Episodes(table, clock);
});

function outcome(overrides: Partial<AttemptOutcome> = {}): AttemptOutcome {
  return { code: 'denied', message: 'ana said no', nextAttemptAt: now + 5 * minute, ...overrides };
}

/** Takes the next attempt and ends it. */
async function attempted(overrides: Partial<AttemptOutcome> = {}): Promise<void> {
  const taken = await episodes.take(target);
  if (taken.kind !== 'taken') throw new Error(`not taken: ${taken.kind}`);
  await episodes.recordOutcome({ ...target, ...taken }, outcome(overrides));
}

describe('isCurrent', () => {
  const input = { ...target, episode: 1, attempt: 1 };

  it('holds from the taking of an attempt to its outcome', async () => {
    await episodes.take(target);
    await expect(episodes.isCurrent(input)).resolves.toBe(true);
    await expect(episodes.isCurrent({ ...input, attempt: 2 })).resolves.toBe(false);
    await expect(episodes.isCurrent({ ...input, episode: 2 })).resolves.toBe(false);
    await episodes.recordOutcome(input, outcome());
    await expect(episodes.isCurrent(input)).resolves.toBe(false);
  });

  it('holds for an attempt that was started by hand, of which nothing is known', async () => {
    await expect(episodes.isCurrent(input)).resolves.toBe(true);
  });
});

describe('take', () => {
  it('opens an episode with its first attempt', async () => {
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'taken', episode: 1, attempt: 1 });
    await expect(episodes.get('prod', 'uid-1')).resolves.toEqual({
      ...target,
      episode: 1,
      attempt: 1,
      state: 'open',
      openedAt: start,
      attemptState: 'running',
      takenAt: start,
      byPerson: false,
    });
  });

  it('gives the same numbers again while the attempt has no outcome, to a person too', async () => {
    await episodes.take(target);
    now += 60 * minute;
    const running = { kind: 'running', episode: 1, attempt: 1 };
    await expect(episodes.take(target)).resolves.toEqual(running);
    await expect(episodes.take(target, { byPerson: true })).resolves.toEqual(running);
  });

  it('lets one of many at once take an attempt', async () => {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => episodes.take(target)));
    expect(outcomes.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
    expect(new Set(outcomes.map((taken) => JSON.stringify({ ...taken, kind: '' }))).size).toBe(1);
  });

  it('takes nothing before it is due, and the next attempt then', async () => {
    await attempted();
    const due = start + 5 * minute;
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'not-due', at: due });
    now = due - 1;
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'not-due', at: due });
    now = due;
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'taken', episode: 1, attempt: 2 });
  });

  it('is due at once for a person, whatever the outcome before', async () => {
    for (const nextAttemptAt of [start + 99 * minute, 'never', 'when-breaker-closes'] as const) {
      await episodes.take(target, { byPerson: true });
      const { episode, attempt } = (await episodes.get('prod', 'uid-1')) ?? {};
      if (episode === undefined || attempt === undefined) throw new Error('no episode');
      await episodes.recordOutcome({ ...target, episode, attempt }, outcome({ nextAttemptAt }));
    }
    await expect(episodes.take(target, { byPerson: true })).resolves.toEqual({
      kind: 'taken',
      episode: 1,
      attempt: 4,
    });
    await expect(episodes.get('prod', 'uid-1')).resolves.toMatchObject({ byPerson: true });
  });

  it('never takes another attempt after `never`', async () => {
    await attempted({ nextAttemptAt: 'never' });
    now += 365 * 24 * 60 * minute;
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'not-due', at: 'never' });
  });

  it('opens the next episode after one that was closed, due at once', async () => {
    await attempted({ nextAttemptAt: 'never' });
    await episodes.close('prod', 'uid-1');
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'taken', episode: 2, attempt: 1 });
    await expect(episodes.get('prod', 'uid-1')).resolves.not.toHaveProperty('outcome');
  });
});

describe('an attempt that waits for the breaker', () => {
  const open = (kind: 'pool' | 'zone', name: string): MeasuredState => ({
    source: 'measured',
    kind,
    name,
    openedAt: now,
    lastAboveAt: now,
    closesAt: now + 10 * minute,
    reopenUntil: now + 10 * minute,
    total: 10,
    unhealthy: 3,
    limit: 2,
    unhealthyNodes: [],
  });
  const scope = { kind: 'pool', name: 'general' } as const;
  const waiting = { kind: 'not-due', at: 'when-breaker-closes' };
  const save = (next: BreakerState[]) => saveBreakerStates(table, 'prod', [], next);

  it('is due when the breaker of its scope has cooled down', async () => {
    await attempted({ nextAttemptAt: 'when-breaker-closes', scope });
    await save([open('pool', 'general')]);
    now += 10 * minute - 1;
    await expect(episodes.take(target)).resolves.toEqual(waiting);
    now += 1;
    await expect(episodes.take(target)).resolves.toMatchObject({ kind: 'taken', attempt: 2 });
  });

  it('does not wait for the breaker of another scope', async () => {
    await save([open('pool', 'gpu'), open('zone', 'general')]);
    await attempted({ nextAttemptAt: 'when-breaker-closes', scope });
    now += minute;
    await expect(episodes.take(target)).resolves.toMatchObject({ kind: 'taken' });
  });

  it('waits for every breaker of the cluster where it does not know the scope', async () => {
    await save([open('pool', 'gpu')]);
    await attempted({ nextAttemptAt: 'when-breaker-closes' });
    now += minute;
    await expect(episodes.take(target)).resolves.toEqual(waiting);
  });

  it('waits until a person takes a trip back', async () => {
    const holds = new Holds(table, clock);
    await holds.trip({ cluster: 'prod', scope: CLUSTER_SCOPE, by: 'ana', reason: 'stop' });
    await attempted({ nextAttemptAt: 'when-breaker-closes', scope: CLUSTER_SCOPE });
    now += 600 * minute;
    await expect(episodes.take(target)).resolves.toEqual(waiting);
    await holds.reset({ cluster: 'prod', scope: CLUSTER_SCOPE });
    await expect(episodes.take(target)).resolves.toMatchObject({ kind: 'taken' });
  });

  it('gives the scan a minute to record what the attempt saw', async () => {
    await attempted({ nextAttemptAt: 'when-breaker-closes', scope });
    await expect(episodes.take(target)).resolves.toEqual({ kind: 'not-due', at: start + minute });
    now += minute;
    await expect(episodes.take(target)).resolves.toMatchObject({ kind: 'taken' });
  });
});

describe('recordOutcome', () => {
  it('keeps the outcome with the episode and among its attempts', async () => {
    await episodes.take(target);
    const input = { ...target, episode: 1, attempt: 1 };
    await episodes.setExecution(input, 'arn:execution');
    now += minute;
    await expect(episodes.recordOutcome(input, outcome())).resolves.toBe('recorded');
    await expect(episodes.get('prod', 'uid-1')).resolves.toMatchObject({
      attemptState: 'ended',
      execution: 'arn:execution',
      outcome: { ...outcome(), at: now },
    });
    await expect(episodes.attempts('prod', 'uid-1')).resolves.toEqual([
      {
        node: 'n1',
        nodeUid: 'uid-1',
        episode: 1,
        attempt: 1,
        takenAt: start,
        endedAt: now,
        byPerson: false,
        execution: 'arn:execution',
        ...outcome(),
      },
    ]);
  });

  it('keeps the first outcome of an attempt', async () => {
    await episodes.take(target);
    const input = { ...target, episode: 1, attempt: 1 };
    const twice = await Promise.all([
      episodes.recordOutcome(input, outcome({ code: 'replaced' })),
      episodes.recordOutcome(input, outcome({ code: 'replaced' })),
    ]);
    expect(twice.toSorted()).toEqual(['already-recorded', 'recorded']);
    await expect(
      episodes.recordOutcome(input, outcome({ code: 'execution-aborted' })),
    ).resolves.toBe('already-recorded');
    await expect(episodes.attempts('prod', 'uid-1')).resolves.toMatchObject([{ code: 'replaced' }]);
  });

  it('does nothing to a later attempt, or to a node without an episode', async () => {
    const late = { ...target, episode: 1, attempt: 1 };
    await expect(episodes.recordOutcome(late, outcome())).resolves.toBe('superseded');
    await attempted({ nextAttemptAt: now });
    await episodes.take(target);
    await expect(episodes.recordOutcome(late, outcome())).resolves.toBe('superseded');
    await expect(episodes.take(target)).resolves.toEqual({
      kind: 'running',
      episode: 1,
      attempt: 2,
    });
  });

  it('lists attempts in the order of their numbers', async () => {
    for (let n = 0; n < 11; n += 1) await attempted({ nextAttemptAt: now });
    const attempts = await episodes.attempts('prod', 'uid-1');
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });
});

describe('setExecution', () => {
  it('leaves other attempts and ended ones alone', async () => {
    await episodes.setExecution({ ...target, episode: 1, attempt: 1 }, 'arn:none');
    await expect(episodes.get('prod', 'uid-1')).resolves.toBeUndefined();
    await episodes.take(target);
    await episodes.setExecution({ ...target, episode: 1, attempt: 2 }, 'arn:other');
    await expect(episodes.get('prod', 'uid-1')).resolves.not.toHaveProperty('execution');
  });
});

describe('health', () => {
  it('is counted from the first note, and again from the beginning after a fault', async () => {
    await attempted();
    await expect(episodes.noteHealthy('prod', 'uid-1')).resolves.toBe(start);
    now += minute;
    await expect(episodes.noteHealthy('prod', 'uid-1')).resolves.toBe(start);
    await episodes.noteFault('prod', 'uid-1');
    now += minute;
    await expect(episodes.noteHealthy('prod', 'uid-1')).resolves.toBe(start + 2 * minute);
  });

  it.each(['not due', 'running'])(
    'ends with an attempt that is asked for, %s or not',
    async (state) => {
      if (state === 'running') await episodes.take(target);
      else await attempted();
      await episodes.noteHealthy('prod', 'uid-1');
      await episodes.take(target);
      await expect(episodes.get('prod', 'uid-1')).resolves.not.toHaveProperty('healthySince');
    },
  );

  it('is not known of a node without an open episode', async () => {
    await expect(episodes.noteHealthy('prod', 'uid-1')).resolves.toBeUndefined();
    await episodes.noteFault('prod', 'uid-1');
    await expect(episodes.get('prod', 'uid-1')).resolves.toBeUndefined();
  });
});

describe('close', () => {
  it('closes once, and not while an attempt is at work', async () => {
    await expect(episodes.close('prod', 'uid-1')).resolves.toBe('absent');
    await episodes.take(target);
    await expect(episodes.close('prod', 'uid-1')).resolves.toBe('running');
    await episodes.recordOutcome({ ...target, episode: 1, attempt: 1 }, outcome());
    await expect(episodes.close('prod', 'uid-1')).resolves.toBe('closed');
    await expect(episodes.close('prod', 'uid-1')).resolves.toBe('absent');
    await expect(episodes.get('prod', 'uid-1')).resolves.toMatchObject({
      state: 'closed',
      closedAt: start,
    });
  });

  it('keeps the numbers longer than Step Functions remembers names', async () => {
    await attempted();
    await episodes.close('prod', 'uid-1');
    const item = await table.get({ pk: 'cluster#prod', sk: 'episode#uid-1' });
    expect(Number(item?.ttl)).toBeGreaterThan(start / 1000 + 90 * 86_400);
  });
});

describe('list', () => {
  it('gives the last episode of every node of a cluster, open or closed', async () => {
    await attempted();
    await episodes.close('prod', 'uid-1');
    await episodes.take({ ...target, node: 'n2', nodeUid: 'uid-2' });
    await episodes.take({ ...target, cluster: 'other' });
    await expect(episodes.list('prod')).resolves.toMatchObject([
      { nodeUid: 'uid-1', state: 'closed' },
      { nodeUid: 'uid-2', state: 'open' },
    ]);
  });
});
