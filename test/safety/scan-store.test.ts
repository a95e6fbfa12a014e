import { describe, expect, it } from 'vitest';
import { ScanStore } from '../../lib/safety/scan-store.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const minute = 60_000;
const scan = (readAt: number, resourceVersion: string) => ({
  cluster: 'prod',
  at: readAt + 5_000,
  readAt,
  nodes: 1,
  gaps: 0,
  actionable: 0,
  unknown: 0,
  attempts: 0,
  resourceVersion,
});

describe('what is kept of the last scan', () => {
  it('is what the youngest read saw, whichever was judged last', async () => {
    const store = new ScanStore(new MemoryTable());
    expect(await store.load('prod')).toBeUndefined();
    await store.save(scan(10 * minute, '200'));
    await store.save(scan(9 * minute, '110'));
    expect(await store.load('prod')).toEqual({ at: 10 * minute + 5_000, resourceVersion: '200' });
    await store.save({ ...scan(11 * minute, '300'), fullReadAt: 11 * minute });
    expect(await store.load('prod')).toEqual({
      at: 11 * minute + 5_000,
      resourceVersion: '300',
      fullReadAt: 11 * minute,
    });
  });

  it('does not wait for a clock that was ahead', async () => {
    const store = new ScanStore(new MemoryTable());
    await store.save(scan(100 * minute, '200'));
    await store.save(scan(10 * minute, '210'));
    expect(await store.load('prod')).toMatchObject({ resourceVersion: '210' });
  });
});
