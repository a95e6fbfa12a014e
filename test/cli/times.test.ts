import { describe, expect, it } from 'vitest';
import { newestTime, parseNow } from '../../cli/times.ts';

describe('parseNow', () => {
  it.each([
    ['2026-11-29T12:00:00Z', '2026-11-29T12:00:00.000Z'],
    ['2026-11-29T12:00Z', '2026-11-29T12:00:00.000Z'],
    ['2026-11-29T12:00:00.123456Z', '2026-11-29T12:00:00.123Z'],
    ['2026-11-29T14:00:00+02:00', '2026-11-29T12:00:00.000Z'],
    ['2026-11-29', '2026-11-29T00:00:00.000Z'],
  ])('reads %s', (text, iso) => {
    expect(new Date(parseNow(text)).toISOString()).toBe(iso);
  });

  it.each(['', 'now', '2026-11-29 12:00', '2026-13-01', '1764417600'])('refuses "%s"', (text) => {
    expect(() => parseNow(text)).toThrow(`--now: "${text}" is not a time`);
  });

  it.each(['2026-11-29T12:00:00', '2026-11-29T12:00'])('asks for the zone of %s', (text) => {
    expect(() => parseNow(text)).toThrow(`--now: "${text}" has no time zone; add Z`);
  });
});

describe('newestTime', () => {
  it('finds the newest time of something that happened', () => {
    const items = [
      { metadata: { creationTimestamp: '2026-11-01T00:00:00Z' } },
      { status: { conditions: [{ lastHeartbeatTime: '2026-11-29T11:59:40Z' }] } },
      // A deletion lies ahead by its grace period, and a label may hold anything.
      { metadata: { deletionTimestamp: '2027-01-01T00:00:00Z', labels: { built: '2028-01-01' } } },
    ];
    expect(newestTime(items)).toBe(Date.parse('2026-11-29T11:59:40Z'));
  });

  it('knows nothing of objects without times', () => {
    expect(newestTime([{ metadata: { name: 'a' } }])).toBeUndefined();
  });
});
