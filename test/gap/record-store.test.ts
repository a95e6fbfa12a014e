import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Detection, Gap, GapRecord } from '../../lib/gap/model.ts';
import { GapRecordStore, type KeepOutcome } from '../../lib/gap/record-store.ts';
import { nextRecords } from '../../lib/gap/records.ts';
import type { Item, Write } from '../../lib/ports.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { crashing, detected, minute, node, now, pod, second } from './build.ts';

let table: MemoryTable;
let store: GapRecordStore;
/** What was written of records, transaction by transaction. */
let batches: Write[][];

beforeEach(() => {
  table = new MemoryTable();
  store = new GapRecordStore(table);
  batches = [];
  const transact = table.transact.bind(table);
  table.transact = async (writes, token) => {
    const outcome = await transact(writes, token);
    const ofRecords = writes.filter(
      (write) => (write.kind === 'put' ? write.item : write.key).pk !== 'cluster#prod',
    );
    if (outcome.kind === 'committed' && ofRecords.length > 0) batches.push(ofRecords);
    return outcome;
  };
});

function record(nodeUid: string, overrides: Partial<GapRecord> = {}): GapRecord {
  return {
    nodeUid,
    daemonSet: 'kube-system/cni',
    firstSeen: 1,
    lastSeen: 2,
    sightings: 3,
    flaps: 0,
    ...overrides,
  };
}

function many(count: number, overrides: Partial<GapRecord> = {}): GapRecord[] {
  return Array.from({ length: count }, (_, n) =>
    record(`uid-${String(n).padStart(5, '0')}`, overrides),
  );
}

/** A scan at `at` after which these are the records, whatever they were. */
function keep(at: number, records: GapRecord[], cluster = 'prod'): Promise<KeepOutcome> {
  return store.keep(cluster, { at, known: records, next: () => records, exactSightings: 2 });
}

/** As `keep`, of a scan that found some at its start. */
function forget(at: number, known: GapRecord[], records: GapRecord[]): Promise<KeepOutcome> {
  return store.keep('prod', { at, known, next: () => records, exactSightings: 2 });
}

describe('GapRecordStore', () => {
  it('gives back what was kept, per cluster', async () => {
    const records = [
      record('uid-1'),
      record('uid-1', { daemonSet: 'logging/agent', healthySince: 9 }),
      record('uid-2', { flaps: 2 }),
    ];
    await expect(keep(10, records)).resolves.toEqual({
      kind: 'kept',
      records,
      postponed: 0,
      unreadable: [],
    });
    await keep(10, [record('uid-9')], 'other');
    await expect(store.load('prod')).resolves.toEqual(records);
    await expect(store.load('other')).resolves.toEqual([record('uid-9')]);
  });

  it('forgets records that are not among those kept', async () => {
    await keep(10, [record('uid-1'), record('uid-2')]);
    await keep(11, [record('uid-2')]);
    await expect(store.load('prod')).resolves.toEqual([record('uid-2')]);
    await forget(12, [record('uid-2')], []);
    await expect(store.load('prod')).resolves.toEqual([]);
  });

  it('drops a field that is gone', async () => {
    await keep(10, [record('uid-1', { healthySince: 5 })]);
    await keep(11, [record('uid-1')]);
    await expect(store.load('prod')).resolves.toEqual([record('uid-1')]);
  });

  it('touches nothing while there is nothing', async () => {
    await expect(keep(10, [])).resolves.toEqual({
      kind: 'kept',
      records: [],
      postponed: 0,
      unreadable: [],
    });
    await expect(table.query('cluster#prod', '')).resolves.toEqual([]);
  });

  describe('with items that are no gap records', () => {
    const key = (uid: string) => ({ pk: 'gaps#prod', sk: `${uid}#kube-system/cni` });
    const broken: Item[] = [
      { ...key('torn'), nodeUid: 'torn' },
      { ...key('typed'), ...record('typed'), lastSeen: 'yesterday' },
      { ...key('dated'), ...record('dated'), healthySince: 'never' },
      { ...key('moved'), ...record('elsewhere') },
    ];

    beforeEach(async () => {
      await keep(10, [record('uid-1')]);
      await table.transact(broken.map((item) => ({ kind: 'put', item })));
    });

    it('still gives the others', async () => {
      await expect(store.load('prod')).resolves.toEqual([record('uid-1')]);
    });

    it('writes them anew or deletes them, and names them', async () => {
      const records = [record('torn'), record('uid-1')];
      const unreadable = broken.map(({ sk }) => sk).sort();
      await expect(keep(11, records)).resolves.toMatchObject({ kind: 'kept', unreadable });
      await expect(table.query('gaps#prod', '')).resolves.toHaveLength(2);
      await expect(store.load('prod')).resolves.toEqual(records);
      await expect(keep(12, records)).resolves.toMatchObject({ unreadable: [] });
    });
  });
});

describe('what a scan writes', () => {
  const seenAt = (lastSeen: number) => record('uid-1', { lastSeen });

  it('is only what changed', async () => {
    await keep(10, [record('uid-1'), record('uid-2')]);
    batches = [];
    await keep(11, [record('uid-1'), record('uid-2', { flaps: 1 })]);
    expect(batches).toMatchObject([[{ kind: 'put', item: { nodeUid: 'uid-2', flaps: 1 } }]]);
    batches = [];
    await keep(12, [record('uid-1'), record('uid-2', { flaps: 1 })]);
    expect(batches).toEqual([]);
  });

  it.each<[string, Partial<GapRecord>]>([
    ['its first sighting moved', { firstSeen: 0 }],
    ['it flapped', { flaps: 1 }],
    ['it recovered', { healthySince: 9 }],
    ['its clock was wrong', { lastSeen: 1 }],
  ])('holds a record when %s', async (_, change) => {
    await keep(10, [record('uid-1')]);
    batches = [];
    await keep(11, [record('uid-1', change)]);
    expect(batches).toHaveLength(1);
  });

  it('holds each sighting until there are enough to confirm', async () => {
    await keep(10, [record('uid-1', { sightings: 1 })]);
    batches = [];
    await keep(11, [record('uid-1', { sightings: 2, lastSeen: 3 })]);
    expect(batches).toHaveLength(1);
    await keep(12, [record('uid-1', { sightings: 3, lastSeen: 4 })]);
    expect(batches).toHaveLength(1);
  });

  it('holds a mere sighting again after ten minutes', async () => {
    await keep(10, [seenAt(2)]);
    batches = [];
    await keep(11, [seenAt(2 + 10 * minute - 1)]);
    expect(batches).toEqual([]);
    await keep(12, [seenAt(2 + 10 * minute)]);
    expect(batches).toHaveLength(1);
  });

  it('fits into transactions, each of which demands that it is still the newest scan', async () => {
    const whole: Write[][] = [];
    const transact = table.transact.bind(table);
    table.transact = (writes, token) => {
      whole.push(writes);
      return transact(writes, token);
    };
    await keep(10, many(250));
    expect(whole.map((writes) => writes.length)).toEqual([1, 100, 100, 53]);
    expect(whole.slice(1).map(([first]) => first)).toEqual(
      Array(3).fill({
        kind: 'check',
        key: { pk: 'cluster#prod', sk: 'newest-scan' },
        condition: { kind: 'equals', attribute: 'at', value: 10 },
      }),
    );
    await expect(store.load('prod')).resolves.toEqual(many(250));
  });

  it('is bounded: the rest of 50,000 new records waits for later scans', async () => {
    const records = many(5000);
    const postponed = [];
    for (let scan = 0; scan < 4; scan += 1) {
      const outcome = await keep(10 + scan, records);
      postponed.push(outcome.kind === 'kept' ? outcome.postponed : -1);
    }
    expect(postponed).toEqual([3000, 1000, 0, 0]);
    await expect(store.load('prod')).resolves.toHaveLength(5000);
  });

  it('puts new ones first, then what changed or went, then mere sightings', async () => {
    const old = [record('a'), record('b'), record('c')];
    await keep(10, old);
    batches = [];
    const later = { lastSeen: 10 * minute + 2 };
    await keep(11, [record('a', later), record('d'), record('c', { flaps: 1 })]);
    expect(
      batches.flat().map((write) => [write.kind, write.kind === 'put' && write.item.nodeUid]),
    ).toEqual([
      ['put', 'd'],
      ['put', 'c'],
      ['delete', false],
      ['put', 'a'],
    ]);
  });

  describe('when there is more than one scan may write', () => {
    const restless = (scan: number) => many(2500, { flaps: scan, lastSeen: scan });
    const fresh = (count: number) => many(count).map((each) => ({ ...each, daemonSet: 'a/new' }));
    const putsOf = (daemonSet: string) =>
      batches.flat().filter((write) => write.kind === 'put' && write.item.daemonSet === daemonSet);

    beforeEach(async () => {
      await keep(1, restless(0));
      await keep(2, restless(0));
      batches = [];
    });

    it('gives new records half of the writes at least', async () => {
      await keep(3, [...restless(3), ...fresh(1500)]);
      expect(putsOf('a/new')).toHaveLength(1000);
      expect(putsOf('kube-system/cni')).toHaveLength(1000);
      await keep(4, [...restless(4), ...fresh(1500)]);
      expect(putsOf('a/new')).toHaveLength(1500);
    });

    it('leaves to the others what new records do not need', async () => {
      await keep(3, [...restless(3), ...fresh(10)]);
      expect(putsOf('a/new')).toHaveLength(10);
      expect(putsOf('kube-system/cni')).toHaveLength(1990);
    });

    it('lets no record wait for ever while all change at every scan', async () => {
      for (const scan of [3, 4]) await keep(scan, restless(scan));
      const written = putsOf('kube-system/cni').map((put) => put.kind === 'put' && put.item.sk);
      expect(new Set(written).size).toBe(2500);
    });

    it('has a record of each of 10,000 new gaps after 9 scans: 2,000, then 1,000 by each', async () => {
      table = new MemoryTable();
      store = new GapRecordStore(table);
      const detection: Detection = { ...detected({}), gaps: tenThousand() };
      let known: GapRecord[] = [];
      let scans = 0;
      while (known.length < 10_000 && scans < 20) {
        const at = now + scans * minute;
        const next = (before: readonly GapRecord[]) =>
          nextRecords(before, detection, at, { holdUpMs: minute }).keep;
        await store.keep('prod', { at, known, next, exactSightings: 2 });
        known = await store.load('prod');
        scans += 1;
      }
      expect(scans).toBe(9);
    });
  });
});

/** The same gap on nodes of different uids. */
function tenThousand(): Gap[] {
  const [gap] = detected({ nodes: [node('n1')], pods: [crashing('n1')] }).gaps;
  if (gap === undefined) throw new Error('a crashing pod makes no gap');
  return Array.from({ length: 10_000 }, (_, n) => ({ ...gap, nodeUid: `uid-${n}` }));
}

describe('scans that overtake each other', () => {
  it('an older scan that ends later changes nothing', async () => {
    await keep(20, [record('uid-1', { lastSeen: 20 })]);
    const before = await store.load('prod');
    for (const at of [20, 19, 20 - 4 * minute]) {
      await expect(keep(at, [])).resolves.toMatchObject({ kind: 'kept' });
      await expect(forget(at, before, [])).resolves.toEqual({ kind: 'overtaken' });
      await expect(store.load('prod')).resolves.toEqual(before);
    }
  });

  it('an older scan stops where a younger one begins', async () => {
    const transact = table.transact.bind(table);
    let transactions = 0;
    table.transact = async (writes, token) => {
      transactions += 1;
      // Turn and one batch of the older scan are through.
      if (transactions === 3) {
        await transact([{ kind: 'put', item: { pk: 'cluster#prod', sk: 'newest-scan', at: 11 } }]);
      }
      return transact(writes, token);
    };
    await expect(keep(10, many(250))).resolves.toEqual({ kind: 'overtaken' });
    await expect(store.load('prod')).resolves.toHaveLength(99);
  });

  it('a scan under a clock that was ahead does not shut out the others', async () => {
    await keep(now + 10 * minute, [record('uid-1')]);
    await expect(keep(now, [record('uid-2')])).resolves.toMatchObject({ kind: 'kept' });
    await expect(store.load('prod')).resolves.toEqual([record('uid-2')]);
  });
});

describe('any interleaving of scans', () => {
  const nodes = [node('n1'), node('n2')];
  const views: Record<string, Detection> = {
    both: detected({ nodes, pods: [crashing('n1'), crashing('n2')] }),
    one: detected({ nodes, pods: [crashing('n1'), pod('n2')] }),
    none: detected({ nodes, pods: [pod('n1'), pod('n2')] }),
    unsure: {
      ...detected({ nodes, pods: [pod('n1'), crashing('n2')] }),
      unknown: [{ node: 'n1', nodeUid: 'uid-n1', reason: 'x', message: 'x' }],
    },
  };
  const scans = fc.array(
    fc.record({
      view: fc.constantFrom('both', 'one', 'none', 'unsure'),
      at: fc.integer({ min: 0, max: 280 }),
    }),
    { minLength: 1, maxLength: 7 },
  );
  const holdUpMs = 60 * second;
  type Scan = { view: string; at: number };

  const recordsAfter = (scan: Scan, before: readonly GapRecord[]) =>
    nextRecords(before, views[scan.view] ?? detected({}), now + scan.at * second, { holdUpMs })
      .keep;

  /** Runs all at once, with every call of the table in an order that the scheduler chooses. */
  async function run(scheduler: fc.Scheduler, all: Scan[], exactSightings: number) {
    const shared = new MemoryTable();
    const turn = () => scheduler.schedule(Promise.resolve());
    const wrote = new Set<Scan>();
    const done = Promise.all(
      all.map(async (scan) => {
        const slow = new GapRecordStore({
          get: (key) => turn().then(() => shared.get(key)),
          query: (pk, prefix) => turn().then(() => shared.query(pk, prefix)),
          transact: async (writes, token) => {
            await turn();
            const outcome = await shared.transact(writes, token);
            if (outcome.kind === 'committed' && writes.length > 1) wrote.add(scan);
            return outcome;
          },
        });
        await slow.keep('prod', {
          at: now + scan.at * second,
          known: await slow.load('prod'),
          next: (before) => recordsAfter(scan, before),
          exactSightings,
        });
      }),
    );
    await scheduler.waitFor(done);
    const kept = [...wrote].sort((a, b) => a.at - b.at);
    return { kept, records: await new GapRecordStore(shared).load('prod') };
  }

  const inOrder = (kept: Scan[]) =>
    kept
      .reduce<GapRecord[]>((records, scan) => recordsAfter(scan, records), [])
      .sort((a, b) => (a.nodeUid < b.nodeUid ? -1 : 1));

  it('comes to what those that were kept come to in the order of their times', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), scans, async (scheduler, all) => {
        const { kept, records } = await run(scheduler, all, Number.POSITIVE_INFINITY);
        expect(new Set(kept.map(({ at }) => at)).size).toBe(kept.length);
        expect(records).toEqual(inOrder(kept));
      }),
      { numRuns: 300 },
    );
  });

  it('loses nothing but mere sightings when these are written now and then only', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), scans, async (scheduler, all) => {
        const { kept, records } = await run(scheduler, all, 2);
        const expected = inOrder(kept);
        expect(records).toEqual(
          expected.map((each, index) => ({
            ...each,
            lastSeen: records[index]?.lastSeen,
            sightings: records[index]?.sightings,
          })),
        );
        expected.forEach((each, index) => {
          const { sightings = 0, lastSeen = 0 } = records[index] ?? {};
          expect(sightings).toBeLessThanOrEqual(each.sightings);
          expect(sightings).toBeGreaterThanOrEqual(Math.min(2, each.sightings));
          expect(lastSeen).toBeLessThanOrEqual(each.lastSeen);
        });
      }),
      { numRuns: 200 },
    );
  });
});
