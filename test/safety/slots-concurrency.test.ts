import { describe, expect, it } from 'vitest';
import type { BreakerConfig } from '../../lib/config/model.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../../lib/ports.ts';
import type { ScopeCount } from '../../lib/safety/breaker.ts';
import { type SlotOutcome, type SlotRequest, Slots } from '../../lib/safety/slots.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { breakerLimits, countsOf, slotRequest } from './samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const pools = ['p', 'q'] as const;
const nodesPerPool = 100;
const unhealthyPerPool = 10;

/** mulberry32: the same numbers for the same seed, on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

class Unlucky extends Error {}

/**
 * A table with everything that a network and DynamoDB's read-committed queries may do: calls
 * interleave, fail before they are carried out, lose their answer after, are sent twice, and a
 * query sees the state before a transaction that is about to be answered.
 */
class UnluckyTable implements StateTable {
  readonly #table = new MemoryTable();
  readonly #random: () => number;
  readonly #afterCommit: (table: StateTable) => Promise<void>;
  readonly #unanswered = new Set<Map<string, Item[]>>();

  constructor(random: () => number, afterCommit: (table: StateTable) => Promise<void>) {
    this.#random = random;
    this.#afterCommit = afterCommit;
  }

  async get(key: ItemKey): Promise<Item | undefined> {
    await this.#interleave();
    return this.#table.get(key);
  }

  async query(pk: string, prefix: string): Promise<Item[]> {
    await this.#interleave();
    const [before] = [...this.#unanswered];
    const lagging = before?.get(`${pk} ${prefix}`);
    if (lagging !== undefined && this.#random() < 0.5) return structuredClone(lagging);
    return this.#table.query(pk, prefix);
  }

  async transact(writes: Write[], token?: string): Promise<TransactOutcome> {
    await this.#interleave();
    const fate = this.#random();
    if (fate < 0.05) throw new Unlucky('the request got lost');
    // The table in memory answers at once: these three happen in one step, unseen by others.
    const slotsBefore = this.#table.query('cluster#prod', 'slot#');
    const committing = this.#table.transact(writes, token);
    const checking = this.#afterCommit(this.#table);
    const outcome = await committing;
    await checking;
    if (token !== undefined && fate < 0.2) await this.#table.transact(writes, token);
    const before = new Map([['cluster#prod slot#', await slotsBefore]]);
    this.#unanswered.add(before);
    await this.#interleave();
    this.#unanswered.delete(before);
    if (fate > 0.95) throw new Unlucky('the answer got lost');
    return outcome;
  }

  async #interleave(): Promise<void> {
    await turns(1 + this.#random() * 4);
  }
}

/** Lets others run for a while. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}

/** Like a Lambda retry: the same call again after a failure. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Unlucky)) throw error;
    }
  }
}

const counts: ScopeCount[] = countsOf({
  nodes: pools.flatMap((pool) =>
    Array.from({ length: nodesPerPool }, (_, n) => ({
      name: `${pool}${n}`,
      pool,
      zone: n % 2 === 0 ? 'even' : 'odd',
      unhealthy: n < unhealthyPerPool,
    })),
  ),
});

interface Run {
  acquired: number;
  refused: Map<string, number>;
  committed: number;
  most: { pool: number; cluster: number; unhealthy: number };
}

/** 200 executions want a slot at once: unhealthy nodes, and healthy ones that persons asked for. */
async function run(seed: number, limits: BreakerConfig): Promise<Run> {
  const random = seededRandom(seed);
  const most = { pool: 0, cluster: 0, unhealthy: 0 };
  const owners = new Map<number, string>();
  const table = new UnluckyTable(random, (raw) => check(raw, limits, most, owners));
  const slots = new Slots(table, { now: () => start }, limits, {
    random,
    sleep: turns,
  });
  const result: Run = { acquired: 0, refused: new Map(), committed: 0, most };

  const work = async (request: SlotRequest): Promise<void> => {
    const calls = random() < 0.3 ? 2 : 1;
    const outcomes = await Promise.all(
      Array.from({ length: calls }, () => persistently(() => slots.acquire(request))),
    );
    const fences = new Set(outcomes.flatMap((o) => (o.kind === 'acquired' ? [o.fence] : [])));
    expect(fences.size).toBeLessThanOrEqual(1);
    const [fence] = [...fences];
    if (fence === undefined) {
      for (const outcome of outcomes.slice(0, 1)) countRefusal(result, outcome);
      return;
    }
    result.acquired += 1;
    const { cluster, nodeUid, execution } = request;
    const ref = { cluster, nodeUid, execution, fence };
    await turns(random() * 400);
    if (random() < 0.3) {
      await persistently(() => slots.park(ref));
      await persistently(() => slots.resume(ref));
    }
    let verified = false;
    if (random() < 0.5) {
      const commit = await persistently(() => slots.commit(ref));
      verified = commit.kind === 'committed';
      if (commit.kind === 'committed') result.committed += 1;
      else if (commit.code !== 'slot-parked') expect(commit.code).toBe('hourly-cap');
    }
    // The other calls of this execution have been answered, so nobody takes it up again.
    const release = await persistently(() => slots.release(ref, { verified }));
    expect(['released', 'absent']).toContain(release);
  };

  const requests = pools.flatMap((pool) =>
    Array.from({ length: nodesPerPool }, (_, n) =>
      slotRequest({
        node: `${pool}${n}`,
        pool,
        zone: n % 2 === 0 ? 'even' : 'odd',
        counts,
        countedAt: start,
      }),
    ),
  );
  await Promise.all(requests.map(work));
  await expect(slots.list('prod')).resolves.toEqual([]);
  return result;
}

function countRefusal(result: Run, outcome: SlotOutcome): void {
  if (outcome.kind === 'acquired') return;
  result.refused.set(outcome.code, (result.refused.get(outcome.code) ?? 0) + 1);
}

/** What must hold after every single transaction. Reads both items before it waits for either. */
async function check(
  table: StateTable,
  limits: BreakerConfig,
  most: Run['most'],
  owners: Map<number, string>,
): Promise<void> {
  const reads = [table.query('cluster#prod', 'slot#'), table.get(clusterPlaces)] as const;
  const [held, places] = await Promise.all(reads);
  const working = held.filter((slot) => slot.parkedAt === undefined);
  demand(sameMembers(places?.inWork, held), 'places in work are those of the slots');
  demand(sameMembers(places?.working, working), 'parallel places are those of working slots');
  demand(working.length <= limits.parallelPerCluster, 'the cap of the cluster holds');
  most.cluster = Math.max(most.cluster, working.length);

  for (const slot of held) {
    const owner = owners.get(Number(slot.fence)) ?? String(slot.execution);
    demand(slot.execution === owner, 'no fence is given out twice');
    owners.set(Number(slot.fence), owner);
  }
  for (const count of counts) {
    const inScope = held.filter(
      (slot) => count.kind === 'cluster' || slot[count.kind] === count.name,
    );
    const unhealthy = new Set([...(count.unhealthyUids ?? []), ...uidsOf(inScope)]);
    demand(unhealthy.size <= count.limit, `the limit of ${count.kind} ${count.name} holds`);
    if (count.kind !== 'pool') continue;
    most.unhealthy = Math.max(most.unhealthy, unhealthy.size);
    const inPool = inScope.filter((slot) => slot.parkedAt === undefined);
    demand(inPool.length <= limits.parallelPerPool, `the cap of pool ${count.name} holds`);
    most.pool = Math.max(most.pool, inPool.length);
  }
}

const clusterPlaces = { pk: 'cluster#prod', sk: 'places#cluster' };

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(`violated: ${what}`);
}

function uidsOf(items: Item[]): string[] {
  return items.map(({ nodeUid }) => String(nodeUid));
}

function sameMembers(value: unknown, items: Item[]): boolean {
  const members: Set<unknown> = value instanceof Set ? value : new Set();
  return members.size === items.length && uidsOf(items).every((uid) => members.has(uid));
}

describe('200 concurrent executions over two pools', () => {
  const seeds = [1, 2, 3];

  it.each(seeds)('never exceed the parallel caps (seed %i)', async (seed) => {
    const limits = { ...breakerLimits, parallelPerPool: 3, parallelPerCluster: 5 };
    const result = await run(seed, limits);
    expect(result.most).toMatchObject({ pool: 3, cluster: 5 });
    expect(result.committed).toBeLessThanOrEqual(limits.replacementsPerHour);
    expect(result.refused.get('cluster-parallel-cap')).toBeGreaterThan(0);
    expect(result.acquired).toBeGreaterThanOrEqual(5);
  });

  it.each(seeds)('never push a pool above the limit of its breaker (seed %i)', async (seed) => {
    const limits = {
      ...breakerLimits,
      parallelPerPool: 100,
      parallelPerCluster: 200,
      replacementsPerHour: 1_000,
    };
    const result = await run(seed, limits);
    expect(result.most.unhealthy).toBe(20);
    expect(result.refused.get('breaker-open')).toBeGreaterThan(0);
    expect(result.acquired).toBeGreaterThan(30);
  });
});
