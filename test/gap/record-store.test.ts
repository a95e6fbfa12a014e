import { beforeEach, describe, expect, it } from 'vitest';
import type { GapRecord } from '../../lib/gap/model.ts';
import { GapRecordStore } from '../../lib/gap/record-store.ts';
import type { Write } from '../../lib/ports.ts';
import { MemoryTable } from '../../local/memory-table.ts';

let table: MemoryTable;
let store: GapRecordStore;
let batches: Write[][];

beforeEach(() => {
  table = new MemoryTable();
  store = new GapRecordStore(table);
  batches = [];
  const transact = table.transact.bind(table);
  table.transact = (writes, token) => {
    batches.push(writes);
    return transact(writes, token);
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

describe('GapRecordStore', () => {
  it('gives back what was saved, per cluster', async () => {
    const records = [
      record('uid-1'),
      record('uid-1', { daemonSet: 'logging/agent', healthySince: 9 }),
      record('uid-2', { flaps: 2 }),
    ];
    await store.save('prod', records);
    await store.save('other', [record('uid-9')]);
    await expect(store.load('prod')).resolves.toEqual(records);
    await expect(store.load('other')).resolves.toEqual([record('uid-9')]);
  });

  it('forgets records that are not among those saved', async () => {
    await store.save('prod', [record('uid-1'), record('uid-2')]);
    await store.save('prod', [record('uid-2')]);
    await expect(store.load('prod')).resolves.toEqual([record('uid-2')]);
    await store.save('prod', []);
    await expect(store.load('prod')).resolves.toEqual([]);
  });

  it('drops a field that is gone', async () => {
    await store.save('prod', [record('uid-1', { healthySince: 5 })]);
    await store.save('prod', [record('uid-1')]);
    await expect(store.load('prod')).resolves.toEqual([record('uid-1')]);
  });

  it('writes only what changed', async () => {
    await store.save('prod', [record('uid-1'), record('uid-2')]);
    batches = [];
    await store.save('prod', [record('uid-1'), record('uid-2', { lastSeen: 7 })]);
    expect(batches).toMatchObject([[{ kind: 'put', item: { nodeUid: 'uid-2', lastSeen: 7 } }]]);
    batches = [];
    await store.save('prod', [record('uid-1'), record('uid-2', { lastSeen: 7 })]);
    expect(batches).toEqual([]);
  });

  it('saves more records than a transaction has room for', async () => {
    const records = Array.from({ length: 250 }, (_, n) =>
      record(`uid-${String(n).padStart(3, '0')}`),
    );
    await store.save('prod', records);
    expect(batches.map((writes) => writes.length)).toEqual([100, 100, 50]);
    await expect(store.load('prod')).resolves.toEqual(records);
  });

  it('refuses an item of another shape instead of guessing', async () => {
    await table.transact([
      { kind: 'put', item: { pk: 'gaps#prod', sk: 'uid-1#kube-system/cni', nodeUid: 'uid-1' } },
    ]);
    await expect(store.load('prod')).rejects.toMatchObject({
      code: 'State.Corrupt',
      message: expect.stringContaining('attribute daemonSet is not a text'),
    });
  });
});
