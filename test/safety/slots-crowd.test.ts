import { afterEach, describe, expect, it } from 'vitest';
import { BACKOFF, TRIES } from '../../lib/aws/dynamodb-table.ts';
import { backoffMs } from '../../lib/pacing.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../../lib/ports.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { keyOfWrite } from '../../lib/safety/table-writes.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { DiscreteClock } from '../workflow/clock.ts';
import { breakerOnly, seededRandom } from './contention.ts';
import { countsOf, slotRequest } from './samples.ts';

/**
 * A table that takes its time as DynamoDB does, in milliseconds: a transaction holds its items for
 * a while, and another one that comes to them meanwhile is cancelled and tried again, with the
 * patience of the adapter.
 */
class BusyTable implements StateTable {
  readonly #table = new MemoryTable();
  readonly #clock: DiscreteClock;
  readonly #random: () => number;
  readonly #held = new Set<string>();
  /** The most conflicts that one transaction met. */
  mostConflicts = 0;

  constructor(clock: DiscreteClock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  async get(key: ItemKey): Promise<Item | undefined> {
    await this.#takes(3, 7);
    return this.#table.get(key);
  }

  async query(pk: string, prefix: string): Promise<Item[]> {
    await this.#takes(4, 9);
    return this.#table.query(pk, prefix);
  }

  async transact(writes: Write[], token?: string): Promise<TransactOutcome> {
    for (let tries = 0; ; tries += 1) {
      await this.#takes(3, 6);
      if (!writes.some((write) => this.#held.has(idOf(write)))) break;
      this.mostConflicts = Math.max(this.mostConflicts, tries + 1);
      if (tries + 1 >= TRIES.conflict) throw new Error('gave up over a conflict');
      await this.#clock.sleep(backoffMs(tries, this.#random, BACKOFF));
    }
    const held = writes.filter(({ kind }) => kind !== 'check').map(idOf);
    for (const id of held) this.#held.add(id);
    await this.#takes(8, 16);
    const outcome = await this.#table.transact(writes, token);
    for (const id of held) this.#held.delete(id);
    await this.#takes(2, 4);
    return outcome;
  }

  #takes(least: number, most: number): Promise<void> {
    return this.#clock.sleep(least + this.#random() * (most - least));
  }
}

function idOf(write: Write): string {
  return JSON.stringify(keyOfWrite(write));
}

const nodes = Array.from({ length: 200 }, (_, n) => ({
  name: `n${n}`,
  pool: n % 2 === 0 ? 'p' : 'q',
  zone: `zone-${n % 3}`,
  unhealthy: true,
}));
const counts = countsOf({ nodes, percent: 100 });
const limits = { ...breakerOnly, maxUnhealthyPercent: 100 };

describe('a crowd of 200 executions for which there is room', () => {
  let clock: DiscreteClock;
  afterEach(() => clock.run(0));

  it.each([1])('gets its 200 slots within 30 s, and gives them back (seed %i)', async (seed) => {
    const random = seededRandom(seed);
    clock = new DiscreteClock(Date.parse('2026-11-30T12:00:00Z'));
    const table = new BusyTable(clock, random);
    const slots = new Slots(table, clock, limits, { random, sleep: (ms) => clock.sleep(ms) });
    const countedAt = clock.now();
    let acquired = 0;
    let released = 0;
    const acquiring = Promise.all(
      nodes.map(async ({ name, pool, zone }) => {
        const request = slotRequest({ node: name, pool, zone, counts, countedAt });
        const outcome = await slots.acquire(request);
        if (outcome.kind === 'acquired') acquired += 1;
      }),
    );
    await clock.run(30_000);
    expect(acquired).toBe(200);
    await acquiring;
    const releasing = Promise.all(
      (await runUntil(slots.list('prod'))).map(async (slot) => {
        if ((await slots.release(slot)) === 'released') released += 1;
      }),
    );
    await clock.run(20_000);
    expect(released).toBe(200);
    await releasing;
    expect(table.mostConflicts).toBeLessThan(TRIES.conflict);
  });

  async function runUntil<T>(promise: Promise<T>): Promise<T> {
    await clock.run(1_000);
    return promise;
  }
});
