/**
 * 200 executions that want a slot at once, over two pools of a cluster, and what must hold after
 * every single transaction. Run against the table in memory and against DynamoDB's API.
 */
import { expect } from 'vitest';
import type { BreakerConfig } from '../../lib/config/model.ts';
import type { Item, StateTable } from '../../lib/ports.ts';
import type { ScopeCount } from '../../lib/safety/breaker.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { type SlotOutcome, type SlotRequest, Slots } from '../../lib/safety/slots.ts';
import { breakerLimits, countsOf, slotRequest } from './samples.ts';

export const start = Date.parse('2026-11-30T12:00:00Z');
const pools = ['p', 'q'] as const;
const unhealthyPerPool = 10;

export const parallelLimits: BreakerConfig = {
  ...breakerLimits,
  parallelPerPool: 3,
  parallelPerCluster: 5,
};

/** Nothing but the breaker is in the way. */
export const breakerOnly: BreakerConfig = {
  ...breakerLimits,
  parallelPerPool: 100,
  parallelPerCluster: 200,
  replacementsPerHour: 1_000,
};

/** mulberry32: the same numbers for the same seed, on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Run {
  acquired: number;
  refused: Map<string, number>;
  committed: number;
  most: { pool: number; cluster: number; unhealthy: number };
  /** Transactions after which everything was checked. */
  checked: number;
}

export interface Setting {
  limits: BreakerConfig;
  random: () => number;
  sleep: (ms: number) => Promise<void>;
  /** Unhealthy nodes of each pool that ask for nothing, beside the 100 that do; then all healthy. */
  bystanders?: number;
  /** How long an execution may work before it goes on, in the units of `sleep`. */
  workFor: number;
  /** Nobody who has a slot goes on before so many had one, or all that asked are answered. */
  meet?: number;
  /** An error that the machine answers with the same call again. */
  isPassing: (error: unknown) => boolean;
  /** Pool `q` is tripped by a person once that many slots were taken. */
  tripAfter?: number;
  /** The table, which calls `check` with what stands after each transaction. */
  makeTable: (check: Check) => StateTable;
}

/** Looks at the table behind all faults. */
export type Check = (table: Pick<StateTable, 'get' | 'query'>) => Promise<void>;

/** Unhealthy nodes, and healthy ones that persons asked for, all at once. */
export async function contend(setting: Setting): Promise<Run> {
  const { limits, random, sleep, bystanders } = setting;
  const asking = pools.flatMap((pool) => {
    return samples(pool, 'n', 100, bystanders === undefined ? unhealthyPerPool : 0);
  });
  const silent = pools.flatMap((pool) => samples(pool, 's', bystanders ?? 0, bystanders ?? 0));
  const counts = countsOf({ nodes: [...asking, ...silent] });
  const most = { pool: 0, cluster: 0, unhealthy: 0 };
  const result: Run = { acquired: 0, refused: new Map(), committed: 0, most, checked: 0 };
  const owners = new Map<number, string>();
  const trip: Trip = { asked: false };
  const table = setting.makeTable(async (raw) => {
    await check(raw, { limits, counts, most, owners, trip });
    result.checked += 1;
  });
  const clock = { now: () => start };
  const slots = new Slots(table, clock, limits, { random, sleep });
  const again = <T>(call: () => Promise<T>) => persistently(call, setting.isPassing);
  const met = new Meeting(setting.meet ?? 0, asking.length);

  const work = async (request: SlotRequest): Promise<void> => {
    const calls = random() < 0.3 ? 2 : 1;
    const outcomes = await Promise.all(
      Array.from({ length: calls }, () => again(() => slots.acquire(request))),
    );
    const fences = new Set(outcomes.flatMap((o) => (o.kind === 'acquired' ? [o.fence] : [])));
    expect(fences.size).toBeLessThanOrEqual(1);
    const [fence] = [...fences];
    met.answered(fence !== undefined);
    if (fence === undefined) {
      for (const outcome of outcomes.slice(0, 1)) countRefusal(result, outcome);
      return;
    }
    result.acquired += 1;
    if (result.acquired === setting.tripAfter) {
      trip.asked = true;
      const scope = { kind: 'pool', name: 'q' } as const;
      const closed = { cluster: 'prod', scope, reason: 'odd', by: 'ann' };
      await again(() => new Holds(table, clock).trip(closed));
    }
    const { cluster, nodeUid, execution } = request;
    const ref = { cluster, nodeUid, execution, fence };
    await met.enough;
    await sleep(random() * setting.workFor);
    if (random() < 0.3) {
      await again(() => slots.park(ref));
      await again(() => slots.resume(ref));
    }
    let verified = false;
    if (random() < 0.5) {
      const commit = await again(() => slots.commit(ref));
      verified = commit.kind === 'committed';
      if (commit.kind === 'committed') result.committed += 1;
      else if (commit.code !== 'slot-parked') {
        expect(['hourly-cap', ...(trip.asked ? ['breaker-tripped'] : [])]).toContain(commit.code);
      }
    }
    // The other calls of this execution have been answered, so nobody takes it up again.
    const release = await again(() => slots.release(ref, { verified }));
    expect(['released', 'absent']).toContain(release);
  };

  const requests = asking.map(({ name, pool, zone }) =>
    slotRequest({ node: name, pool, zone, counts, countedAt: start }),
  );
  await Promise.all(requests.map(work));
  await expect(again(() => slots.list('prod'))).resolves.toEqual([]);
  return result;
}

/** Opens once enough have a slot, or once nobody is left who could still get one. */
class Meeting {
  readonly enough: Promise<void>;
  private open: () => void = () => {};
  private missing: number;
  private asking: number;

  constructor(size: number, asking: number) {
    this.missing = size;
    this.asking = asking;
    this.enough = new Promise((resolve) => {
      this.open = resolve;
    });
    if (size === 0) this.open();
  }

  answered(acquired: boolean): void {
    this.asking -= 1;
    if (acquired) this.missing -= 1;
    if (this.missing <= 0 || this.asking === 0) this.open();
  }
}

function samples(pool: string, kind: string, count: number, unhealthy: number) {
  return Array.from({ length: count }, (_, n) => ({
    name: `${pool}-${kind}${n}`,
    pool,
    zone: n % 2 === 0 ? 'even' : 'odd',
    unhealthy: n < unhealthy,
  }));
}

/** Like a Lambda retry: the same call again after a failure. */
async function persistently<T>(
  call: () => Promise<T>,
  isPassing: (error: unknown) => boolean,
): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
  }
}

function countRefusal(result: Run, outcome: SlotOutcome): void {
  if (outcome.kind === 'acquired') return;
  result.refused.set(outcome.code, (result.refused.get(outcome.code) ?? 0) + 1);
}

interface Trip {
  asked: boolean;
  /** The last fence given out when the trip was first seen in the table. */
  lastFence?: number;
  committed?: Set<string>;
}

interface Checked {
  limits: BreakerConfig;
  counts: ScopeCount[];
  most: Run['most'];
  owners: Map<number, string>;
  trip: Trip;
}

/** What must hold after every single transaction. Reads all items before it waits for any. */
async function check(
  table: Pick<StateTable, 'get' | 'query'>,
  { limits, counts, most, owners, trip }: Checked,
): Promise<void> {
  const reads = [
    table.query('cluster#prod', 'slot#'),
    table.get(clusterPlaces),
    table.get({ pk: 'cluster#prod', sk: 'replacements-hour' }),
    trip.asked ? table.query('cluster#prod', 'breaker#trip#') : [],
  ] as const;
  const [held, places, hour, trips] = await Promise.all(reads);
  const working = held.filter((slot) => slot.parkedAt === undefined);
  demand(sameMembers(places?.inWork, held), 'places in work are those of the slots');
  demand(sameMembers(places?.working, working), 'parallel places are those of working slots');
  demand(working.length <= limits.parallelPerCluster, 'the cap of the cluster holds');
  most.cluster = Math.max(most.cluster, working.length);
  const commits = Array.isArray(hour?.commits) ? hour.commits.length : 0;
  demand(commits <= limits.replacementsPerHour, 'the cap of the hour holds');

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
  if (trips.length > 0) checkTrip(trip, held, Number(places?.fence));
}

/** Once the trip of pool `q` stands, nothing new begins there and nothing more is committed. */
function checkTrip(trip: Trip, held: Item[], fence: number): void {
  const inPool = held.filter(({ pool }) => pool === 'q');
  const committed = inPool.filter((slot) => slot.committedAt !== undefined);
  trip.lastFence ??= fence;
  trip.committed ??= new Set(uidsOf(committed));
  for (const slot of inPool) {
    demand(Number(slot.fence) <= trip.lastFence, 'no slot is taken behind a trip');
  }
  for (const uid of uidsOf(committed)) {
    demand(trip.committed.has(uid), 'nothing is committed behind a trip');
  }
}

const clusterPlaces = { pk: 'cluster#prod', sk: 'places#cluster' };

export class Violation extends Error {}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Violation(`violated: ${what}`);
}

function uidsOf(items: Item[]): string[] {
  return items.map(({ nodeUid }) => String(nodeUid));
}

function sameMembers(value: unknown, items: Item[]): boolean {
  const members: Set<unknown> = value instanceof Set ? value : new Set();
  return members.size === items.length && uidsOf(items).every((uid) => members.has(uid));
}
