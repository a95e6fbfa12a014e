import { beforeEach, describe, expect, it } from 'vitest';
import { Alerts } from '../../lib/safety/alerts.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const minute = 60_000;
let now: number;
let alerts: Alerts;
let told: string[][];

beforeEach(() => {
  now = start;
  told = [];
  alerts = new Alerts(new MemoryTable(), { now: () => now });
});
const tell = (...keys: string[]) =>
  alerts.tellOnce('prod', keys, async (fresh) => void told.push(fresh));

describe('tellOnce', () => {
  it('tells each thing once, and only what is new', async () => {
    await tell('a');
    await tell('a', 'b');
    await tell('a', 'b');
    expect(told).toEqual([['a'], ['b']]);
  });

  it('tells nothing when there is nothing', async () => {
    await tell();
    expect(told).toEqual([]);
  });

  it('keeps clusters apart', async () => {
    await tell('a');
    await alerts.tellOnce('test', ['a'], async (fresh) => void told.push(fresh));
    expect(told).toHaveLength(2);
  });

  it('tells once what two scans find at once', async () => {
    await Promise.all([tell('a'), tell('a')]);
    expect(told).toEqual([['a']]);
  });

  it('tells again what could not be sent', async () => {
    const failing = alerts.tellOnce('prod', ['a', 'b'], async () => {
      throw new Error('away');
    });
    await expect(failing).rejects.toThrow('away');
    await tell('a', 'b');
    expect(told).toEqual([['a', 'b']]);
  });

  it('tells again after a day', async () => {
    await tell('a');
    now += 24 * 60 * minute + 1;
    await tell('a');
    expect(told).toHaveLength(2);
  });
});

describe('keepOnly', () => {
  it('forgets a reason that has been away for half an hour', async () => {
    await tell('a');
    await alerts.keepOnly('prod', new Set());
    now += 29 * minute;
    await alerts.keepOnly('prod', new Set());
    await tell('a');
    expect(told).toHaveLength(1);
    now += minute;
    await alerts.keepOnly('prod', new Set());
    await tell('a');
    expect(told).toHaveLength(2);
  });

  it('starts over when the reason was back in between', async () => {
    await tell('a');
    await alerts.keepOnly('prod', new Set());
    now += 20 * minute;
    await alerts.keepOnly('prod', new Set(['a']));
    now += 20 * minute;
    await alerts.keepOnly('prod', new Set());
    await tell('a');
    expect(told).toHaveLength(1);
  });
});
