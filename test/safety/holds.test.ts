import { beforeEach, describe, expect, it } from 'vitest';
import { Holds } from '../../lib/safety/holds.ts';
import { CLUSTER_SCOPE } from '../../lib/safety/scope.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
let now: number;
let holds: Holds;

beforeEach(() => {
  now = start;
  holds = new Holds(new MemoryTable(), { now: () => now });
});

describe('pauses', () => {
  it('hold for the pool, or for every node of the cluster', async () => {
    await holds.pause({ cluster: 'prod', pool: 'gpu', by: 'ana', reason: 'driver upgrade' });
    let found = await holds.list('prod');
    expect(found.holdOf('gpu')).toEqual({
      code: 'paused',
      message: 'pool gpu: paused by ana: driver upgrade',
    });
    expect(found.holdOf('general')).toBeUndefined();
    expect(found.holdOf(undefined)).toBeUndefined();

    const until = start + 3_600_000;
    await holds.pause({ cluster: 'prod', by: 'bo', reason: 'CNI upgrade', until });
    found = await holds.list('prod');
    for (const pool of ['gpu', 'general', undefined]) {
      expect(found.holdOf(pool)).toEqual({
        code: 'paused',
        message: 'cluster: paused by bo until 2026-11-30T13:00:00Z: CNI upgrade',
        retryAt: until,
      });
    }
    expect((await holds.list('other')).holdOf('gpu')).toBeUndefined();
  });

  it('end by themselves at their end, and by a person before', async () => {
    await holds.pause({ cluster: 'prod', by: 'ana', reason: 'r', until: start + 1 });
    await holds.pause({ cluster: 'prod', pool: 'gpu', by: 'ana', reason: 'r' });
    now += 1;
    expect((await holds.list('prod')).pauses).toMatchObject([{ pool: 'gpu', since: start }]);
    await expect(holds.resume({ cluster: 'prod', pool: 'gpu' })).resolves.toBe(true);
    await expect(holds.resume({ cluster: 'prod', pool: 'gpu' })).resolves.toBe(false);
    expect((await holds.list('prod')).pauses).toEqual([]);
  });

  it('replace the pause before them', async () => {
    await holds.pause({ cluster: 'prod', by: 'ana', reason: 'first', until: start + 1 });
    await holds.pause({ cluster: 'prod', by: 'bo', reason: 'second' });
    expect((await holds.list('prod')).pauses).toEqual([
      { cluster: 'prod', by: 'bo', reason: 'second', since: start },
    ]);
  });

  it.each([
    ['nobody', { by: ' ', reason: 'r' }],
    ['no reason', { by: 'ana', reason: '' }],
    ['an end in the past', { by: 'ana', reason: 'r', until: start }],
  ])('are refused with %s', async (_what, words) => {
    await expect(holds.pause({ cluster: 'prod', ...words })).rejects.toMatchObject({
      code: 'Usage',
    });
    expect((await holds.list('prod')).pauses).toEqual([]);
  });
});

describe('trips', () => {
  it('are listed until they are reset', async () => {
    const scope = { kind: 'zone', name: 'eu-west-1a' } as const;
    const trip = await holds.trip({ cluster: 'prod', scope, by: 'ana', reason: 'outage' });
    expect(trip).toEqual({
      source: 'manual',
      ...scope,
      trippedAt: start,
      by: 'ana',
      reason: 'outage',
    });
    expect((await holds.list('prod')).trips).toEqual([trip]);
    await expect(holds.reset({ cluster: 'prod', scope: CLUSTER_SCOPE })).resolves.toEqual([]);
    await expect(holds.reset({ cluster: 'prod', scope })).resolves.toEqual(['trip']);
    expect((await holds.list('prod')).trips).toEqual([]);
  });

  it('have one name for the cluster, however it is called', async () => {
    const scope = { kind: 'cluster', name: 'prod' } as const;
    await expect(
      holds.trip({ cluster: 'prod', scope, by: 'ana', reason: 'stop' }),
    ).resolves.toMatchObject({ kind: 'cluster', name: 'cluster' });
    await expect(holds.reset({ cluster: 'prod', scope })).resolves.toEqual(['trip']);
  });
});
