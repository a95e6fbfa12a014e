import { describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../lib/safety/episode-items.ts';
import { judgeNews, mostADay, mostAnHour, takeNotice } from '../../lib/safety/hushed.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const t0 = Date.parse('2026-11-29T12:00:00Z');
const hour = 60 * 60_000;

const record = (parts: Partial<AttemptRecord>): AttemptRecord => ({
  node: 'n1',
  nodeUid: 'uid-1',
  episode: 1,
  attempt: 1,
  takenAt: t0,
  endedAt: t0,
  byPerson: false,
  code: 'recovered',
  message: '',
  nextAttemptAt: 0,
  told: true,
  ...parts,
});
const end = { episode: 9, attempt: 1, code: 'recovered', untouched: false, grave: false };

describe('how an attempt ended', () => {
  it('is told the first time', () => {
    expect(judgeNews([], end, t0)).toEqual({ kind: 'tell' });
  });

  it('is told again after a day, and not before, however often the node flaps', () => {
    const flaps = [record({ episode: 1 }), record({ episode: 2, endedAt: t0 + hour, told: false })];
    expect(judgeNews(flaps, end, t0 + 23 * hour)).toEqual({ kind: 'hush' });
    expect(judgeNews(flaps, end, t0 + 24 * hour)).toEqual({ kind: 'tell' });
  });

  it('is told when people last heard something else of the node', () => {
    const history = [record({}), record({ episode: 2, code: 'flapping', endedAt: t0 + hour })];
    expect(judgeNews(history, end, t0 + 2 * hour)).toEqual({ kind: 'tell' });
  });

  it('is the same when its own record is there already: a retry', () => {
    expect(judgeNews([record({ episode: 9 })], end, t0)).toEqual({ kind: 'tell' });
  });

  it('is no news, ever, when the attempt before was refused for the same reason', () => {
    const refused = { ...end, attempt: 2, code: 'paused', untouched: true };
    const history = [record({ episode: 9, code: 'paused' })];
    expect(judgeNews(history, refused, t0 + 100 * hour)).toEqual({ kind: 'hush' });
  });

  it('is told at most 6 times a day of one node, and the last says so', () => {
    const codes = ['a', 'b', 'a', 'b', 'a', 'b'];
    const told = codes.map((code, index) =>
      record({ episode: index + 1, code, endedAt: t0 + index * 60_000 }),
    );
    const now = t0 + hour;
    expect(judgeNews(told.slice(0, mostADay - 2), end, now)).toEqual({ kind: 'tell' });
    expect(judgeNews(told.slice(0, mostADay - 1), end, now)).toEqual({
      kind: 'last',
      until: t0 + 24 * hour,
    });
    expect(judgeNews(told, end, now)).toEqual({ kind: 'hush' });
    // What cannot be taken back is told in any case.
    expect(judgeNews(told, { ...end, grave: true }, now)).toEqual({ kind: 'tell' });
  });
});

describe('the notices of a cluster in an hour', () => {
  it('are counted, also by many at once, and begin anew with the next hour', async () => {
    const table = new MemoryTable();
    const taken = await Promise.all(
      Array.from({ length: 60 }, () => takeNotice(table, 'prod', t0 + 5)),
    );
    const numbers = taken.flatMap((each) => (each === undefined ? [] : [each.number]));
    expect(numbers.sort((a, b) => a - b)).toEqual(
      Array.from({ length: mostAnHour }, (_, index) => index + 1),
    );
    expect(await takeNotice(table, 'prod', t0 + hour - 1)).toBeUndefined();
    expect(await takeNotice(table, 'prod', t0 + hour)).toEqual({ number: 1, until: t0 + 2 * hour });
    expect(await takeNotice(table, 'other', t0)).toMatchObject({ number: 1 });
  });
});
