/**
 * Several processes that die and lose requests between any two calls of the API, against what a
 * database would do: every transaction is there in all its items or in none, once, after all that
 * had ended before it began; nobody sees a half one, or one that is taken back.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import type { Item, ItemKey, StateTable, Write } from '../../lib/ports.ts';
import { emptyCluster, openState } from './support.ts';
import { type Fate, fates, Turns } from './turns.ts';

const pk = 'cluster#prod';
/** In a ConfigMap each but for the Lease; the last two share one. */
const sks = ['places#cluster', 'slot#n1', 'places#pool#p', 'episode#n1', 'fault#n1'];

interface Done {
  id: string;
  items: string[];
  began: number;
  ended: number;
  outcome: 'committed' | 'refused' | 'unknown';
}

interface Plan {
  seed: number;
  writers: { faults: [number, Fate][]; transactions: { items: number[]; counts: boolean }[] }[];
  edits: number;
}

const writer = fc.record({
  faults: fc.array(fc.tuple(fc.nat({ max: 60 }), fc.constantFrom(...fates)), { maxLength: 2 }),
  transactions: fc.array(
    fc.record({
      items: fc.uniqueArray(fc.nat({ max: sks.length - 1 }), { minLength: 1, maxLength: 4 }),
      counts: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
const plan: fc.Arbitrary<Plan> = fc.record({
  seed: fc.integer(),
  writers: fc.array(writer, { minLength: 2, maxLength: 3 }),
  edits: fc.nat({ max: 2 }),
});

function logOf(item: Item | undefined): string[] {
  return Array.isArray(item?.log) ? item.log.map(String) : [];
}

/** Adds itself to the end of the log of each item, as it was read, or counts blindly. */
async function work(
  table: StateTable,
  id: string,
  { items, counts }: { items: number[]; counts: boolean },
): Promise<'committed' | 'refused'> {
  const keys = items.map((index): ItemKey => ({ pk, sk: sks[index] ?? '' }));
  const writes: Write[] = [];
  for (const key of keys) {
    if (counts) {
      writes.push({ kind: 'update', key, increment: { n: 1 }, addToSet: { by: [id] } });
      continue;
    }
    const item = await table.get(key);
    const log = logOf(item);
    writes.push({
      kind: 'update',
      key,
      set: { log: [...log, id] },
      increment: { n: 1 },
      addToSet: { by: [id] },
      condition:
        item?.n === undefined
          ? { kind: 'attribute-absent', attribute: 'n' }
          : { kind: 'equals', attribute: 'n', value: Number(item.n) },
    });
  }
  const outcome = await table.transact(writes, `token-${id}`);
  return outcome.kind === 'committed' ? 'committed' : 'refused';
}

async function run({ seed, writers, edits }: Plan): Promise<void> {
  const turns = new Turns(seed);
  const cluster = emptyCluster();
  const raw = cluster.transport();
  await openState(raw);
  const done: Done[] = [];
  let ids = 0;
  // One identity: whose Lease it is, is for others to test.
  const open = (faults: [number, Fate][], identity = 'ann') =>
    openState(turns.transport(raw, new Map(faults)), {
      pacing: turns.pacing,
      identity,
      newId: () => `id${++ids}`,
    });

  for (const [index, { faults, transactions }] of writers.entries()) {
    void (async () => {
      const state = await open(faults).catch(unavailable);
      if (state === undefined) return;
      for (const [number, transaction] of transactions.entries()) {
        const id = `w${index}t${number}`;
        const items = transaction.items.map((item) => sks[item] ?? '');
        const entry: Done = {
          id,
          items,
          began: turns.now,
          ended: Number.MAX_VALUE,
          outcome: 'unknown',
        };
        done.push(entry);
        const outcome = await work(state.table, id, transaction).catch(unavailable);
        if (outcome === undefined) continue;
        entry.outcome = outcome;
        entry.ended = turns.now;
      }
    })();
  }

  const snapshots: Map<string, Set<string>>[] = [];
  void (async () => {
    const { table } = await open([]);
    for (let reads = 0; reads < 4; reads += 1) {
      await turns.turn(15);
      snapshots.push(idsByItem(await table.query(pk, '')));
    }
  })();

  let edited = 0;
  void (async () => {
    const path = '/api/v1/namespaces/nodegap/configmaps/scope-cluster';
    while (edited < edits) {
      await turns.turn(20);
      const object = JSON.parse(String((await raw.request({ method: 'GET', path })).body));
      const text = object.data?.['places.cluster'];
      if (turns.now > 2_000) return;
      if (text === undefined) continue;
      await turns.turn();
      const item = JSON.parse(text);
      object.data['places.cluster'] = JSON.stringify({ ...item, hand: (item.hand ?? 0) + 1 });
      const answer = await raw.request({ method: 'PUT', path, body: JSON.stringify(object) });
      if (answer.status === 200) edited += 1;
    }
  })();

  await turns.run();
  const final = new Map<string, Item>();
  const reading = (async () => {
    const { table } = await open([]);
    for (const item of await table.query(pk, '')) final.set(item.sk, item);
  })();
  await turns.run();
  await reading;
  const last = idsByItem([...final.values()]);
  check(done, final, last);
  expect(final.get('places#cluster')?.hand ?? 0).toBe(edited);
  let before = new Set<string>();
  for (const snapshot of [...snapshots, last]) {
    const seen = new Set([...snapshot.values()].flatMap((members) => [...members]));
    for (const id of before) expect(seen, `${id} is not taken back`).toContain(id);
    for (const { id, items } of done) {
      const there = items.filter((sk) => snapshot.get(sk)?.has(id));
      expect([0, items.length], `${id} is seen whole or not at all`).toContain(there.length);
    }
    before = seen;
  }
}

function idsByItem(items: Item[]): Map<string, Set<string>> {
  return new Map(items.map(({ sk, by }) => [sk, by instanceof Set ? by : new Set()]));
}

function check(done: Done[], final: Map<string, Item>, last: Map<string, Set<string>>): void {
  for (const [sk, item] of final) {
    expect(item.n, `${sk} counts each transaction once`).toBe(last.get(sk)?.size);
  }
  const byId = new Map(done.map((each) => [each.id, each]));
  for (const { id, items, outcome } of done) {
    for (const sk of items) {
      if (outcome === 'committed') expect(last.get(sk), `${id} is kept`).toContain(id);
      if (outcome === 'refused') expect(last.get(sk) ?? new Set(), id).not.toContain(id);
    }
  }
  const after = new Map<string, Set<string>>();
  for (const item of final.values()) {
    const log = logOf(item);
    for (const [place, id] of log.entries()) {
      for (const later of log.slice(place + 1)) {
        const followers = after.get(id) ?? new Set();
        after.set(id, followers.add(later));
        const inTime = (byId.get(later)?.ended ?? 0) >= (byId.get(id)?.began ?? 0);
        expect(inTime, `${later} ended before ${id} began`).toBe(true);
      }
    }
  }
  for (const [id, followers] of after) {
    for (const follower of followers) {
      expect(after.get(follower) ?? new Set(), 'there is one order').not.toContain(id);
    }
  }
}

/** Giving up is an answer, too. */
function unavailable(error: unknown): undefined {
  if (error instanceof NodegapError && error.code === 'State.Unavailable') return undefined;
  throw error;
}

it('a crash between any two calls, and calls that are lost or late, halve and lose nothing', async () => {
  await fc.assert(fc.asyncProperty(plan, run), { numRuns: 150, seed: 20_261_130 });
}, 60_000);
