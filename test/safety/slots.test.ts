import { beforeEach, describe, expect, it } from 'vitest';
import type { BreakerConfig } from '../../lib/config/model.ts';
import type { ExecutionStatus } from '../../lib/ports.ts';
import { nextBreakerStates, type ScopeCount, saveBreakerStates } from '../../lib/safety/breaker.ts';
import { listCanaries } from '../../lib/safety/canaries.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { placesKey, slotKey } from '../../lib/safety/keys.ts';
import { Replacements } from '../../lib/safety/replacements.ts';
import { CLUSTER_SCOPE } from '../../lib/safety/scope.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { breakerLimits, countsOf, slotRequest } from './samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const minute = 60_000;
const hour = 60 * minute;

let now: number;
let table: MemoryTable;
let slept: number[];
const clock = { now: () => now };

beforeEach(() => {
  now = start;
  table = new MemoryTable();
  slept = [];
});

function slotsWith(limits: Partial<BreakerConfig> = {}): Slots {
  return new Slots(
    table,
    clock,
    { ...breakerLimits, ...limits },
    {
      random: () => 0.5,
      sleep: async (ms) => {
        slept.push(ms);
      },
    },
  );
}

/** 20 nodes in each of the pools p and q, of which a, b and c (p) and x (q) are unhealthy. */
const counts: ScopeCount[] = countsOf({
  nodes: ['p', 'q'].flatMap((pool) =>
    Array.from({ length: 20 }, (_, n) => ({
      name: pool === 'p' ? (['a', 'b', 'c'][n] ?? `p${n}`) : n === 0 ? 'x' : `q${n}`,
      pool,
      zone: 'z',
      unhealthy: pool === 'p' ? n < 3 : n === 0,
    })),
  ),
});

function request(node: string, overrides: Partial<Parameters<typeof slotRequest>[0]> = {}) {
  const pool = node === 'x' || node.startsWith('q') ? 'q' : 'p';
  return slotRequest({ node, pool, zone: 'z', counts, countedAt: now, ...overrides });
}

async function acquired(slots: Slots, node: string, overrides = {}) {
  const wanted = request(node, overrides);
  const outcome = await slots.acquire(wanted);
  if (outcome.kind !== 'acquired') throw new Error(`${outcome.code}: ${outcome.message}`);
  const { cluster, nodeUid, execution } = wanted;
  return { cluster, nodeUid, execution, fence: outcome.fence };
}

describe('acquire', () => {
  it('takes lease and places together', async () => {
    const slots = slotsWith();
    await expect(slots.acquire(request('a'))).resolves.toEqual({ kind: 'acquired', fence: 1 });
    await expect(slots.list('prod')).resolves.toEqual([
      {
        cluster: 'prod',
        node: 'a',
        nodeUid: 'uid-a',
        pool: 'p',
        zone: 'z',
        execution: 'execution-of-a',
        episode: 1,
        attempt: 1,
        fence: 1,
        acquiredAt: start,
      },
    ]);
    for (const scope of [
      CLUSTER_SCOPE,
      { kind: 'pool', name: 'p' } as const,
      { kind: 'zone', name: 'z' } as const,
    ]) {
      await expect(table.get(placesKey('prod', scope))).resolves.toMatchObject({
        inWork: new Set(['uid-a']),
        working: new Set(['uid-a']),
      });
    }
  });

  it('answers the same execution the same, whatever happened since', async () => {
    const slots = slotsWith();
    await slots.acquire(request('a'));
    const old = request('a');
    now += hour;
    await new Holds(table, clock).pause({ cluster: 'prod', by: 'ana', reason: 'audit' });
    await expect(slots.acquire(old)).resolves.toEqual({ kind: 'acquired', fence: 1 });
  });

  it('refuses a node that another execution works on', async () => {
    const slots = slotsWith();
    await slots.acquire(request('a'));
    await expect(slots.acquire(request('a', { execution: 'another' }))).resolves.toEqual({
      kind: 'refused',
      code: 'node-busy',
      message: 'a is worked on by execution-of-a',
    });
  });

  it('gives every new lease a greater fence, of this node or of another', async () => {
    const slots = slotsWith();
    const fences: number[] = [];
    for (const [node, execution] of [
      ['a', 'e1'],
      ['x', 'e2'],
      ['a', 'e3'],
      ['a', 'e3'],
    ] as const) {
      const ref = await acquired(slots, node, { execution });
      fences.push(ref.fence);
      await slots.release(ref);
    }
    expect(fences).toEqual([1, 2, 3, 4]);
  });

  it('refuses counts older than 30 s, and counts from the future', async () => {
    const slots = slotsWith();
    for (const countedAt of [now - 30_001, now + 30_001]) {
      await expect(slots.acquire(request('a', { countedAt }))).resolves.toMatchObject({
        code: 'counts-stale',
        retryAt: now,
      });
    }
    await expect(slots.acquire(request('a', { countedAt: now - 30_000 }))).resolves.toMatchObject({
      kind: 'acquired',
    });
  });

  it('refuses counts that lack a scope of the node', async () => {
    const slots = slotsWith();
    await expect(slots.acquire(request('a', { pool: 'other' }))).resolves.toMatchObject({
      code: 'counts-stale',
      message: 'there is no count of pool other',
    });
  });

  it('keeps to the parallel cap of a pool, whose places the zone does not share', async () => {
    const slots = slotsWith();
    await slots.acquire(request('a'));
    await expect(slots.acquire(request('b'))).resolves.toEqual({
      kind: 'refused',
      code: 'pool-parallel-cap',
      message: 'pool p: 1 node in work, limit 1 (breaker.parallelPerPool); refused because 1 >= 1',
    });
    await expect(slots.acquire(request('x'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('keeps to the parallel cap of the cluster', async () => {
    const slots = slotsWith({ parallelPerCluster: 2, parallelPerPool: 9 });
    await slots.acquire(request('a'));
    await slots.acquire(request('x'));
    await expect(slots.acquire(request('b'))).resolves.toMatchObject({
      code: 'cluster-parallel-cap',
      message:
        'cluster: 2 nodes in work, limit 2 (breaker.parallelPerCluster); refused because 2 >= 2',
    });
  });

  it('holds a node without a pool to the cap of the cluster only', async () => {
    const slots = slotsWith();
    const single = (name: string) => slotRequest({ node: name, counts, countedAt: now });
    await slots.acquire(single('a'));
    await expect(slots.acquire(single('b'))).resolves.toMatchObject({ kind: 'acquired' });
    await expect(slots.acquire(single('c'))).resolves.toMatchObject({ kind: 'acquired' });
    await expect(slots.acquire(single('x'))).resolves.toMatchObject({
      code: 'cluster-parallel-cap',
    });
  });

  it('refuses above the limit of any scope of the node, with the numbers', async () => {
    const tooMany = countsOf({
      nodes: Array.from({ length: 10 }, (_, n) => ({
        name: `n${n}`,
        pool: 'p',
        zone: 'z',
        unhealthy: n < 3,
      })),
    });
    await expect(slotsWith().acquire(request('n0', { counts: tooMany }))).resolves.toEqual({
      kind: 'refused',
      code: 'breaker-open',
      message:
        'pool p: 3 of 10 nodes unhealthy, limit 2 (20 % of 10, rounded down, at least 1); open because 3 > 2',
      retryAt: start + 600_000,
      scope: { kind: 'pool', name: 'p' },
    });
    await expect(slotsWith().list('prod')).resolves.toEqual([]);
  });

  it('counts the node that asks, also a healthy one that a person asked for', async () => {
    const atLimit = countsOf({
      nodes: Array.from({ length: 10 }, (_, n) => ({ name: `n${n}`, pool: 'p', unhealthy: n < 2 })),
    });
    const slots = slotsWith();
    const forNode = (node: string) =>
      slotRequest({ node, pool: 'p', counts: atLimit, countedAt: now });
    await expect(slots.acquire(forNode('n9'))).resolves.toMatchObject({ code: 'breaker-open' });
    await expect(slots.acquire(forNode('n0'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('counts nodes that came into work after the count', async () => {
    const healthy = countsOf({
      nodes: Array.from({ length: 10 }, (_, n) => ({ name: `n${n}`, pool: 'p' })),
    });
    const slots = slotsWith({ parallelPerPool: 9, parallelPerCluster: 9 });
    const forNode = (node: string) =>
      slotRequest({ node, pool: 'p', counts: healthy, countedAt: now });
    await expect(slots.acquire(forNode('n0'))).resolves.toMatchObject({ kind: 'acquired' });
    await expect(slots.acquire(forNode('n1'))).resolves.toMatchObject({ kind: 'acquired' });
    await expect(slots.acquire(forNode('n2'))).resolves.toMatchObject({
      code: 'breaker-open',
      message: expect.stringContaining('3 of 10 nodes unhealthy'),
    });
  });

  it('makes do with names where the counts have no uids', async () => {
    const bare = counts.map(({ unhealthyUids: _uids, ...count }) => count);
    const slots = slotsWith();
    await expect(slots.acquire(request('a', { counts: bare }))).resolves.toMatchObject({
      kind: 'acquired',
    });
    const full = bare.map((count) =>
      count.kind === 'pool' && count.name === 'q' ? { ...count, unhealthy: count.limit } : count,
    );
    await expect(slots.acquire(request('q5', { counts: full }))).resolves.toMatchObject({
      code: 'breaker-open',
    });
  });

  it('never acts at 0 %', async () => {
    const never = countsOf({ percent: 0, nodes: [{ name: 'a', pool: 'p' }] });
    await expect(
      slotsWith().acquire(slotRequest({ node: 'a', pool: 'p', counts: never, countedAt: now })),
    ).resolves.toMatchObject({ code: 'breaker-open' });
  });

  it('waits for the cool-down that a scan has recorded, in the scopes of the node only', async () => {
    const above = countsOf({
      nodes: ['a', 'b', 'c', 'd'].map((name) => ({ name, pool: 'p', unhealthy: true })),
    }).filter(({ kind }) => kind === 'pool');
    await saveBreakerStates(table, 'prod', [], nextBreakerStates([], above, now, 10 * minute));
    const slots = slotsWith();
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({
      code: 'breaker-cooling',
      retryAt: start + 10 * minute,
    });
    await expect(slots.acquire(request('x'))).resolves.toMatchObject({ kind: 'acquired' });
    now += 10 * minute;
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('obeys a trip of any of the scopes of the node', async () => {
    const holds = new Holds(table, clock);
    const scope = { kind: 'zone', name: 'z' } as const;
    await holds.trip({ cluster: 'prod', scope, by: 'ana', reason: 'zone is shaky' });
    const slots = slotsWith();
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({
      code: 'breaker-tripped',
      message: 'zone z: breaker tripped by ana: zone is shaky',
    });
    await holds.reset({ cluster: 'prod', scope });
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('obeys the trip of a zone for a node without a pool', async () => {
    const scope = { kind: 'zone', name: 'z' } as const;
    await new Holds(table, clock).trip({ cluster: 'prod', scope, by: 'ana', reason: 'shaky' });
    const single = slotRequest({ node: 'a', zone: 'z', counts, countedAt: now });
    await expect(slotsWith().acquire(single)).resolves.toMatchObject({
      code: 'breaker-tripped',
      message: 'zone z: breaker tripped by ana: shaky',
    });
  });

  it('obeys a pause of the pool until it is over', async () => {
    const holds = new Holds(table, clock);
    const until = now + hour;
    await holds.pause({ cluster: 'prod', pool: 'p', by: 'ana', reason: 'upgrade', until });
    const slots = slotsWith();
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({
      code: 'paused',
      retryAt: until,
    });
    await expect(slots.acquire(request('x'))).resolves.toMatchObject({ kind: 'acquired' });
    now = until;
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('stops in a pool after bad replacements, until a person resets it', async () => {
    const replacements = new Replacements(table);
    const bad = { cluster: 'prod', pool: 'p', verdict: 'bad' } as const;
    const slots = slotsWith();
    await replacements.record({ ...bad, execution: 'e1' });
    await replacements.record({ ...bad, execution: 'e1' });
    const first = await acquired(slots, 'a');
    await slots.release(first);
    await replacements.record({ ...bad, execution: 'e2' });
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({
      code: 'bad-replacements',
      message:
        'pool p: 2 bad replacements in a row, limit 2 (breaker.badReplacements); refused because 2 >= 2; look into the pool, then: nodegap reset --pool p',
    });
    await replacements.reset('prod', 'p');
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('forgets bad replacements after a good one', async () => {
    const replacements = new Replacements(table);
    const of = (execution: string, verdict: 'good' | 'bad') =>
      replacements.record({ cluster: 'prod', pool: 'p', execution, verdict });
    await of('e1', 'bad');
    await of('e2', 'good');
    await of('e3', 'bad');
    await expect(replacements.bad('prod', 'p')).resolves.toEqual(new Set(['e3']));
  });

  it('gives up with an error, not with a refusal, when others never leave it in peace', async () => {
    const slots = slotsWith();
    await slots.release(await acquired(slots, 'a'));
    const get = table.get.bind(table);
    table.get = async (key) => {
      const item = await get(key);
      if (key.sk === placesKey('prod', CLUSTER_SCOPE).sk) {
        await table.transact([{ kind: 'update', key, increment: { version: 1 } }]);
      }
      return item;
    };
    await expect(slots.acquire(request('a'))).rejects.toMatchObject({ code: 'State.Contended' });
    expect(slept).toHaveLength(60);
    expect(slept.slice(0, 3)).toEqual([10, 20, 40]);
  });

  it('does not refuse counts that grew old over the changes of others: new ones are needed', async () => {
    const slots = slotsWith();
    const transact = table.transact.bind(table);
    table.transact = async () => {
      now += 31_000;
      return { kind: 'condition-failed', index: 0, item: undefined };
    };
    await expect(slots.acquire(request('a'))).rejects.toMatchObject({ code: 'State.Contended' });
    table.transact = transact;
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it.each([
    [
      'a pause',
      'paused',
      () => new Holds(table, clock).pause({ cluster: 'prod', by: 'a', reason: 'r' }),
    ],
    [
      'a trip',
      'breaker-tripped',
      () =>
        new Holds(table, clock).trip({
          cluster: 'prod',
          scope: CLUSTER_SCOPE,
          by: 'a',
          reason: 'r',
        }),
    ],
    [
      'an open breaker',
      'breaker-cooling',
      () =>
        saveBreakerStates(
          table,
          'prod',
          [],
          nextBreakerStates(
            [],
            counts.map((count) => ({ ...count, unhealthy: 99 })),
            now,
            minute,
          ),
        ),
    ],
  ])('heeds %s that comes between reading and writing', async (_what, code, interfere) => {
    const transact = table.transact.bind(table);
    let calls = 0;
    table.transact = async (writes, token) => {
      calls += 1;
      table.transact = transact;
      await interfere();
      return transact(writes, token);
    };
    await expect(slotsWith().acquire(request('a'))).resolves.toMatchObject({ code });
    expect(calls).toBe(1);
  });
});

describe('the canary', () => {
  const daemonSet = 'kube-system/cni';
  const canaryFor = daemonSet;
  const many = { parallelPerPool: 9, parallelPerCluster: 9 };

  it('is one node in the cluster for a DaemonSet', async () => {
    const slots = slotsWith(many);
    await acquired(slots, 'a', { canaryFor });
    await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
      code: 'canary-taken',
      message: expect.stringContaining(
        'a is the canary of kube-system/cni since 2026-11-30T12:00:00Z',
      ),
    });
    await expect(
      slots.acquire(request('x', { canaryFor: 'logging/agent' })),
    ).resolves.toMatchObject({ kind: 'acquired' });
    await expect(slots.acquire(request('b'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it.each(['cured', 'given-up'] as const)(
    'lets another be taken once settled as %s',
    async (outcome) => {
      const slots = slotsWith(many);
      await acquired(slots, 'a', { canaryFor });
      await slots.settle('prod', daemonSet, 'uid-other', outcome);
      await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
        kind: 'refused',
      });
      await slots.settle('prod', daemonSet, 'uid-a', outcome);
      await slots.settle('prod', daemonSet, 'uid-a', outcome);
      await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
        kind: 'acquired',
      });
    },
  );

  it.each(['same-gap', 'unverified'] as const)(
    'keeps others away for a day after %s',
    async (outcome) => {
      const slots = slotsWith(many);
      await slots.release(await acquired(slots, 'a', { canaryFor }));
      await slots.settle('prod', daemonSet, 'uid-a', outcome);
      now += 24 * hour - 1;
      await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
        code: 'canary-taken',
        retryAt: start + 24 * hour,
      });
      await expect(listCanaries(table, 'prod')).resolves.toMatchObject([{ state: outcome }]);
      now += 1;
      await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
        kind: 'acquired',
      });
    },
  );

  it('keeps its place between the attempts of its episode, and loses it with the episode', async () => {
    const slots = slotsWith(many);
    const episodes = new Episodes(table, clock);
    const target = { cluster: 'prod', node: 'a', nodeUid: 'uid-a' };
    await episodes.take(target);
    await slots.release(await acquired(slots, 'a', { canaryFor }));
    await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
      code: 'canary-taken',
    });
    await slots.release(await acquired(slots, 'a', { canaryFor, execution: 'second attempt' }));
    await episodes.recordOutcome(
      { ...target, episode: 1, attempt: 1 },
      { code: 'recovered', message: 'it healed', nextAttemptAt: now },
    );
    await episodes.close('prod', 'uid-a');
    await expect(slots.acquire(request('x', { canaryFor }))).resolves.toMatchObject({
      kind: 'acquired',
    });
    await expect(listCanaries(table, 'prod')).resolves.toMatchObject([{ nodeUid: 'uid-x' }]);
  });
});

describe('park and resume', () => {
  it('gives up the parallel place and keeps the lease and the place among the unhealthy', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'p10');
    await expect(slots.park(ref)).resolves.toEqual({ kind: 'parked' });
    await expect(slots.park(ref)).resolves.toEqual({ kind: 'parked' });
    await expect(table.get(placesKey('prod', { kind: 'pool', name: 'p' }))).resolves.toMatchObject({
      inWork: new Set(['uid-p10']),
    });
    await expect(slots.acquire(request('p10', { execution: 'another' }))).resolves.toMatchObject({
      code: 'node-busy',
    });
    // a, b and c are unhealthy and p10 is in work: 4 of 20 is the limit.
    await expect(slots.acquire(request('p11'))).resolves.toMatchObject({ code: 'breaker-open' });
    await expect(slots.acquire(request('a'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('takes the place again, or is refused by the cap', async () => {
    const slots = slotsWith();
    const first = await acquired(slots, 'a');
    await slots.park(first);
    const second = await acquired(slots, 'b');
    await expect(slots.resume(first)).resolves.toMatchObject({ code: 'pool-parallel-cap' });
    await slots.release(second);
    await expect(slots.resume(first)).resolves.toEqual({ kind: 'resumed' });
    await expect(slots.resume(first)).resolves.toEqual({ kind: 'resumed' });
    await expect(slots.acquire(request('b'))).resolves.toMatchObject({ code: 'pool-parallel-cap' });
  });

  it('parks again after a resume in the same millisecond', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    await slots.park(ref);
    await slots.resume(ref);
    await slots.park(ref);
    await expect(slots.list('prod')).resolves.toMatchObject([{ parkedAt: start }]);
  });

  it('is refused without the slot', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    const lost = { kind: 'refused', code: 'slot-lost' };
    await expect(slots.park({ ...ref, execution: 'another' })).resolves.toMatchObject(lost);
    await expect(slots.resume({ ...ref, fence: 99 })).resolves.toMatchObject(lost);
    await slots.release(ref);
    await expect(slots.park(ref)).resolves.toMatchObject(lost);
  });
});

describe('commit', () => {
  it('commits once, and answers the owner the same again', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    await expect(slots.commit(ref)).resolves.toEqual({ kind: 'committed' });
    now += minute;
    await expect(slots.commit(ref)).resolves.toEqual({ kind: 'committed' });
    await expect(slots.list('prod')).resolves.toMatchObject([{ committedAt: start }]);
  });

  it('is refused to anyone but the owner under the fence', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    const lost = { kind: 'refused', code: 'slot-lost' };
    await expect(slots.commit({ ...ref, execution: 'another' })).resolves.toMatchObject(lost);
    await expect(slots.commit({ ...ref, fence: ref.fence + 1 })).resolves.toMatchObject(lost);
    await slots.release(ref);
    await expect(slots.commit(ref)).resolves.toMatchObject(lost);
    await acquired(slots, 'a');
    await expect(slots.commit(ref)).resolves.toMatchObject(lost);
  });

  it('is refused while the slot is parked', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    await slots.park(ref);
    await expect(slots.commit(ref)).resolves.toMatchObject({ code: 'slot-parked' });
  });

  it('takes a place in the rolling hour', async () => {
    const slots = slotsWith({ replacementsPerHour: 2 });
    for (const node of ['a', 'b']) {
      const ref = await acquired(slots, node);
      await expect(slots.commit(ref)).resolves.toEqual({ kind: 'committed' });
      await slots.release(ref, { verified: true });
      now += 20 * minute;
    }
    await expect(slots.acquire(request('c'))).resolves.toEqual({
      kind: 'refused',
      code: 'hourly-cap',
      message:
        'cluster: 2 replacements within the last hour, limit 2 (breaker.replacementsPerHour); refused because 2 >= 2; the next from 2026-11-30T13:00:00Z',
      retryAt: start + hour,
    });
    now = start + hour;
    const ref = await acquired(slots, 'c');
    await expect(slots.commit(ref)).resolves.toEqual({ kind: 'committed' });
  });

  it('is refused when the hour is full by the time of the commit', async () => {
    const slots = slotsWith({ replacementsPerHour: 1 });
    const first = await acquired(slots, 'a');
    const second = await acquired(slots, 'x');
    const outcomes = await Promise.all([slots.commit(first), slots.commit(second)]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['committed', 'refused']);
    expect(outcomes).toContainEqual(expect.objectContaining({ code: 'hourly-cap' }));
  });

  it.each([
    ['paused', () => new Holds(table, clock).pause({ cluster: 'prod', by: 'a', reason: 'r' })],
    [
      'breaker-tripped',
      () =>
        new Holds(table, clock).trip({
          cluster: 'prod',
          scope: CLUSTER_SCOPE,
          by: 'a',
          reason: 'r',
        }),
    ],
    [
      'breaker-cooling',
      async () => {
        const above = counts.map((count) => ({ ...count, unhealthy: 20 }));
        await saveBreakerStates(table, 'prod', [], nextBreakerStates([], above, now, minute));
      },
    ],
    [
      'bad-replacements',
      async () => {
        for (const execution of ['e1', 'e2']) {
          await new Replacements(table).record({
            cluster: 'prod',
            pool: 'p',
            execution,
            verdict: 'bad',
          });
        }
      },
    ],
  ])('is refused when it is %s meanwhile', async (code, happen) => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    await happen();
    await expect(slots.commit(ref)).resolves.toMatchObject({ kind: 'refused', code });
    await expect(slots.list('prod')).resolves.toMatchObject([{ node: 'a' }]);
    expect((await slots.list('prod'))[0]?.committedAt).toBeUndefined();
  });
});

describe('release', () => {
  it('gives everything back, once, and only to the owner', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    await expect(slots.release({ ...ref, execution: 'another' })).resolves.toBe('not-owner');
    await expect(slots.release({ ...ref, fence: 99 })).resolves.toBe('not-owner');
    await expect(slots.release(ref)).resolves.toBe('released');
    await expect(slots.release(ref)).resolves.toBe('absent');
    const places = await table.get(placesKey('prod', CLUSTER_SCOPE));
    expect(places).toMatchObject({ fence: 1 });
    expect(places).not.toHaveProperty('inWork');
    expect(places).not.toHaveProperty('working');
  });

  it('works while paused, tripped and with an open breaker', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    const holds = new Holds(table, clock);
    await holds.pause({ cluster: 'prod', by: 'ana', reason: 'stop' });
    await holds.trip({ cluster: 'prod', scope: CLUSTER_SCOPE, by: 'ana', reason: 'stop' });
    await expect(slots.release(ref)).resolves.toBe('released');
  });

  it('keeps a committed slot until the replacement is verified', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    await slots.commit(ref);
    await expect(slots.release(ref)).resolves.toBe('committed');
    await expect(slots.list('prod')).resolves.toMatchObject([{ node: 'a', committedAt: start }]);
    await expect(slots.release(ref, { verified: true })).resolves.toBe('released');
  });

  it('does not free a slot that is committed between its read and its write', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    const racing = new Proxy(table, {
      get: (target, name) => {
        if (name !== 'transact') return Reflect.get(target, name).bind(target);
        return async (...args: Parameters<MemoryTable['transact']>) => {
          await slots.commit(ref);
          return target.transact(...args);
        };
      },
    });
    const late = new Slots(racing, clock, breakerLimits, {
      random: () => 0,
      sleep: async () => undefined,
    });
    await expect(late.release(ref)).resolves.toBe('committed');
  });
});

describe('freeDeadSlots', () => {
  const timeout = 15 * minute;
  const ended = (endedAt: number): ExecutionStatus => ({
    kind: 'ended',
    endedAt,
    status: 'ABORTED',
  });
  const free = (slots: Slots, status: Record<string, ExecutionStatus>) =>
    slots.freeDeadSlots(
      'prod',
      async (execution) => {
        const known = status[execution];
        if (known === undefined) throw new Error('throttled');
        return known;
      },
      now,
      timeout,
    );

  it('frees what ended longer ago than the longest function, and nothing else', async () => {
    const slots = slotsWith({ parallelPerPool: 9, parallelPerCluster: 9 });
    for (const node of ['a', 'b', 'c', 'x']) await acquired(slots, node);
    now += hour;
    const result = await free(slots, {
      'execution-of-a': ended(now - timeout - 1),
      'execution-of-b': ended(now - timeout),
      'execution-of-c': { kind: 'running' },
    });
    expect(result.freed.map(({ node }) => node)).toEqual(['a']);
    expect(result.unknown).toMatchObject([{ slot: { node: 'x' }, reason: 'throttled' }]);
    expect((await slots.list('prod')).map(({ node }) => node)).toEqual(['b', 'c', 'x']);
  });

  it('frees a slot whose execution is not found once it is old enough', async () => {
    const slots = slotsWith();
    await acquired(slots, 'a');
    now += timeout;
    const notFound = { 'execution-of-a': { kind: 'not-found' } } as const;
    await expect(free(slots, notFound)).resolves.toMatchObject({ freed: [] });
    now += 1;
    await expect(free(slots, notFound)).resolves.toMatchObject({ freed: [{ node: 'a' }] });
  });

  it('frees a parked slot too', async () => {
    const slots = slotsWith();
    await slots.park(await acquired(slots, 'a'));
    now += hour;
    const result = await free(slots, { 'execution-of-a': ended(start) });
    expect(result.freed).toMatchObject([{ node: 'a' }]);
    await expect(slots.acquire(request('b'))).resolves.toMatchObject({ kind: 'acquired' });
  });

  it('never frees a committed slot', async () => {
    const slots = slotsWith();
    await slots.commit(await acquired(slots, 'a'));
    now += 24 * hour;
    const result = await free(slots, { 'execution-of-a': ended(start) });
    expect(result).toMatchObject({ freed: [], committed: [{ node: 'a' }] });
    await expect(slots.list('prod')).resolves.toHaveLength(1);
  });

  it('does not free a slot that is committed while it looks', async () => {
    const slots = slotsWith();
    const ref = await acquired(slots, 'a');
    now += hour;
    const result = await slots.freeDeadSlots(
      'prod',
      async () => {
        await slots.commit(ref);
        return ended(start);
      },
      now,
      timeout,
    );
    expect(result.freed).toEqual([]);
    await expect(slots.list('prod')).resolves.toHaveLength(1);
  });

  it('gives back places whose slot was deleted by hand', async () => {
    const slots = slotsWith();
    await acquired(slots, 'a');
    await table.transact([{ kind: 'delete', key: slotKey('prod', 'uid-a') }]);
    await expect(slots.acquire(request('b'))).resolves.toMatchObject({ code: 'pool-parallel-cap' });
    await expect(free(slots, {})).resolves.toMatchObject({ ghosts: ['uid-a'] });
    await expect(free(slots, {})).resolves.toMatchObject({ ghosts: [] });
    await expect(slots.acquire(request('b'))).resolves.toMatchObject({
      kind: 'acquired',
      fence: 2,
    });
  });
});
