import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { canonicalJson, configSha256 } from '../../lib/config/canonical.ts';
import { defaultConfig } from '../../lib/config/load.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import { ConfigStore } from '../../lib/config/store.ts';
import type { Write } from '../../lib/ports.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
let now: number;
let table: MemoryTable;
const clock = { now: () => now };

beforeEach(() => {
  now = start;
  table = new MemoryTable();
});

function loaded(cluster: string): LoadedConfig {
  const config = defaultConfig(cluster, 'eu-west-1');
  return { config, sha256: configSha256(config) };
}

describe('ConfigStore', () => {
  it('gives back what was published last', async () => {
    const store = new ConfigStore(table, clock);
    await store.publish(loaded('a'));
    await store.publish(loaded('b'));
    await expect(new ConfigStore(table, clock).current()).resolves.toEqual(loaded('b'));
  });

  it('writes the document before it moves the pointer, and keeps the one before', async () => {
    const store = new ConfigStore(table, clock);
    await store.publish(loaded('a'));
    const transact = table.transact.bind(table);
    const written: Write[][] = [];
    table.transact = (writes, token) => {
      written.push(writes);
      return transact(writes, token);
    };
    await store.publish(loaded('b'));
    expect(written).toMatchObject([
      [{ kind: 'put', item: { sk: `sha256#${loaded('b').sha256}` } }],
      [{ kind: 'put', item: { sk: 'current', sha256: loaded('b').sha256 } }],
    ]);
    const kept = await table.query('CONFIG', 'sha256#');
    expect(kept).toHaveLength(2);
  });

  it('reads again after a minute', async () => {
    const store = new ConfigStore(table, clock);
    await store.publish(loaded('a'));
    await store.current();
    await store.publish(loaded('b'));
    now += 59_999;
    await expect(store.current()).resolves.toEqual(loaded('a'));
    now += 1;
    await expect(store.current()).resolves.toEqual(loaded('b'));
  });

  it('keeps the last one that it could read, says why, and tries again with the next call', async () => {
    const why: unknown[] = [];
    const store = new ConfigStore(table, clock, (error) => why.push(error));
    await store.publish(loaded('a'));
    await store.current();
    const get = table.get.bind(table);
    const broken = new Error('no answer');
    table.get = async () => {
      throw broken;
    };
    now += 60_000;
    await expect(store.current()).resolves.toEqual(loaded('a'));
    expect(why).toEqual([broken]);
    table.get = get;
    await store.publish(loaded('b'));
    await expect(store.current()).resolves.toEqual(loaded('b'));
  });

  it('gives the keys that an older nodegap did not publish their defaults', async () => {
    const { config } = loaded('a');
    const { conditionTaints: _taints, audit: _audit, timings, ...older } = config;
    const { startupSoak: _soak, startupDeadline: _deadline, ...olderTimings } = timings;
    const document = canonicalJson({ ...older, timings: olderTimings });
    const sha256 = createHash('sha256').update(document).digest('hex');
    await table.transact([
      { kind: 'put', item: { pk: 'CONFIG', sk: `sha256#${sha256}`, document } },
      { kind: 'put', item: { pk: 'CONFIG', sk: 'current', sha256 } },
    ]);
    await expect(new ConfigStore(table, clock).current()).resolves.toEqual({ config, sha256 });
  });

  it('fails when it could never read one', async () => {
    await expect(new ConfigStore(table, clock).current()).rejects.toMatchObject({
      code: 'ConfigMissing',
    });
  });

  it('does not take a document that is not the one of its sum', async () => {
    const store = new ConfigStore(table, clock);
    await expect(
      store.publish({ ...loaded('a'), sha256: loaded('b').sha256 }),
    ).rejects.toMatchObject({ code: 'ConfigChecksum' });
    await store.publish(loaded('a'));
    const key = { pk: 'CONFIG', sk: `sha256#${loaded('a').sha256}` };
    await table.transact([{ kind: 'update', key, set: { document: '{}' } }]);
    await expect(store.current()).rejects.toMatchObject({ code: 'ConfigChecksum' });
  });
});
