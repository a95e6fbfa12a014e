import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoTime, parseTime } from '../lib/clock.ts';

describe('isoTime', () => {
  it('is in UTC with whole seconds', () => {
    expect(isoTime(Date.UTC(2026, 10, 29, 12, 0, 0, 999))).toBe('2026-11-29T12:00:00Z');
  });

  it.each([
    [9e15, '+275760-09-13T00:00:00Z'],
    [Number.POSITIVE_INFINITY, '+275760-09-13T00:00:00Z'],
    [-9e15, '-271821-04-20T00:00:00Z'],
    [Number.NEGATIVE_INFINITY, '-271821-04-20T00:00:00Z'],
    [Number.NaN, 'unknown'],
  ])('has a text for %s, which no Date can be', (time, text) => {
    expect(isoTime(time)).toBe(text);
  });

  it('is read back as the same second', () => {
    fc.assert(
      fc.property(fc.integer({ min: -8.64e12, max: 8.64e12 }), (seconds) => {
        expect(parseTime(isoTime(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });
});
