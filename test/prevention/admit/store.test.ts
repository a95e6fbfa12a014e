import { beforeEach, describe, expect, it } from 'vitest';
import { AdmissionStore, admissionLeaseMs } from '../../../lib/prevention/admit/store.ts';
import { MemoryTable } from '../../../local/memory-table.ts';

let now: number;
let table: MemoryTable;
let store: AdmissionStore;
beforeEach(() => {
  now = Date.parse('2026-11-29T12:00:00Z');
  table = new MemoryTable();
  store = new AdmissionStore(table, { now: () => now });
});

const claim = async () => store.claimStart('prod', await store.load('prod'), now);

describe('the right to start an execution', () => {
  it('is given once to many who ask at the same time', async () => {
    const claims = await Promise.all(Array.from({ length: 20 }, claim));
    expect(new Set(claims.map(({ number }) => number))).toEqual(new Set([1]));
  });

  it('is given once to many who ask when the one before has died', async () => {
    await claim();
    now += admissionLeaseMs + 1;
    const before = await store.load('prod');
    const claims = await Promise.all(
      Array.from({ length: 20 }, () => store.claimStart('prod', before, now)),
    );
    expect(new Set(claims.map(({ number }) => number))).toEqual(new Set([2]));
  });

  it('is not given while the execution makes its passes, however old the reading', async () => {
    await claim();
    const old = await store.load('prod');
    await store.renew('prod', 1);
    now += admissionLeaseMs;
    await store.renew('prod', 1);
    now += 1_000;
    expect(await store.claimStart('prod', old, now)).toEqual({ kind: 'live', number: 1 });
  });

  it('is given again at once after the execution has ended', async () => {
    await claim();
    await store.renew('prod', 1);
    await store.free('prod', 1);
    expect(await claim()).toEqual({ kind: 'start', number: 2, isNew: true });
    expect(await claim()).toEqual({ kind: 'start', number: 2 });
  });
});

describe('an execution', () => {
  it('is lost once another has its place', async () => {
    await claim();
    await store.renew('prod', 1);
    now += admissionLeaseMs + 1;
    await claim();
    await store.renew('prod', 2);
    expect(await store.renew('prod', 1)).toEqual({ kind: 'lost', successor: false });
    expect(await store.handOn('prod', 1)).toBe(false);
    await store.free('prod', 1);
    await store.note('prod', 1, { handedOverAt: now });
    const item = await store.load('prod');
    expect(item).toMatchObject({ number: 2, state: 'running' });
    expect(item).not.toHaveProperty('handedOverAt');
  });

  it('that handed on and died learns that its successor has still to be started', async () => {
    await claim();
    await store.renew('prod', 1);
    expect(await store.handOn('prod', 1)).toBe(true);
    expect(await store.renew('prod', 1)).toEqual({ kind: 'lost', successor: true });
    await store.renew('prod', 2);
    expect(await store.renew('prod', 1)).toEqual({ kind: 'lost', successor: false });
  });

  it('without any item has lost its number', async () => {
    expect(await store.renew('prod', 1)).toEqual({ kind: 'lost', successor: false });
  });
});

describe('what people are told once', () => {
  it('is told again after a day, and at once when it could not be sent', async () => {
    const sent: number[] = [];
    const tell = () => store.tellOnce('prod', 'ghost', async () => void sent.push(now));
    await expect(
      store.tellOnce('prod', 'ghost', async () => {
        throw new Error('SNS is away');
      }),
    ).rejects.toThrow('SNS is away');
    await tell();
    await tell();
    now += 25 * 3_600_000;
    await tell();
    expect(sent).toHaveLength(2);
  });
});
