import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../lib/config/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['10m', 600],
    ['90s', 90],
    ['1h30m', 5400],
    ['12h', 43_200],
    ['1h0m5s', 3605],
    ['0s', 0],
  ])('reads %s as %i seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it.each(['', '10', '10x', 'm', '1.5h', '-1m', '30m1h', '1m1m', ' 1m', '1 m', '1d', '10M'])(
    'refuses "%s"',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('formatDuration', () => {
  it('gives what parseDuration reads back', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000), (seconds) => {
        expect(parseDuration(formatDuration(seconds))).toBe(seconds);
      }),
    );
  });

  it('leaves out units that are zero', () => {
    expect([0, 45, 600, 3600, 3661].map(formatDuration)).toEqual([
      '0s',
      '45s',
      '10m',
      '1h',
      '1h1m1s',
    ]);
  });
});
