import { describe, expect, it } from 'vitest';
import type { BreakerConfig } from '../../lib/config/model.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../../lib/ports.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import {
  breakerOnly,
  type Check,
  contend,
  parallelLimits,
  type Run,
  seededRandom,
} from './contention.ts';

class Unlucky extends Error {}

/**
 * A table with everything that a network and DynamoDB's read-committed queries may do: calls
 * interleave, fail before they are carried out, lose their answer after, are sent twice, and a
 * query sees the state before a transaction that is about to be answered.
 */
class UnluckyTable implements StateTable {
  readonly #table = new MemoryTable();
  readonly #random: () => number;
  readonly #check: Check;
  readonly #unanswered = new Set<Map<string, Item[]>>();

  constructor(random: () => number, check: Check) {
    this.#random = random;
    this.#check = check;
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
    const checking = this.#check(this.#table);
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

async function run(
  seed: number,
  limits: BreakerConfig,
  more: { tripAfter?: number } = {},
): Promise<Run> {
  const random = seededRandom(seed);
  return contend({
    limits,
    random,
    sleep: turns,
    workFor: 2_000,
    isPassing: (error) => error instanceof Unlucky,
    makeTable: (check) => new UnluckyTable(random, check),
    ...more,
  });
}

describe('200 concurrent executions over two pools', () => {
  const seeds = [1, 2, 3];

  it.each(seeds)('never exceed the parallel caps (seed %i)', async (seed) => {
    const result = await run(seed, parallelLimits);
    expect(result.most).toMatchObject({ pool: 3, cluster: 5 });
    expect(result.committed).toBeLessThanOrEqual(parallelLimits.replacementsPerHour);
    expect(result.refused.get('cluster-parallel-cap')).toBeGreaterThan(0);
    expect(result.acquired).toBeGreaterThanOrEqual(5);
  });

  it.each(seeds)('never push a pool above the limit of its breaker (seed %i)', async (seed) => {
    const result = await run(seed, breakerOnly);
    expect(result.most.unhealthy).toBe(20);
    expect(result.refused.get('breaker-open')).toBeGreaterThan(0);
    expect(result.acquired).toBeGreaterThan(30);
  });

  it.each(seeds)('begin and commit nothing behind a trip (seed %i)', async (seed) => {
    const result = await run(seed, breakerOnly, { tripAfter: 10 });
    expect(result.refused.get('breaker-tripped')).toBeGreaterThan(0);
    expect(result.acquired).toBeGreaterThan(10);
  });
});
