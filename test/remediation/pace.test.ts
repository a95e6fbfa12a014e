import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { secondsToNextLook } from '../../lib/remediation/pace.ts';

const hour = 3_600_000;
const look = (waitedMs: number, endsInMs = 24 * hour, pollSeconds = 30) =>
  secondsToNextLook({ pollSeconds, waitedMs, endsInMs });

describe('secondsToNextLook', () => {
  it('is the configured pace at first', () => {
    expect(look(0)).toBe(30);
    expect(look(240_000)).toBe(30);
  });

  it('grows with the time that was waited, to 5 minutes', () => {
    expect(look(480_000)).toBe(60);
    expect(look(1_200_000)).toBe(150);
    expect(look(12 * hour)).toBe(300);
  });

  it('keeps to a configured pace that is slower than that', () => {
    expect(look(0, 24 * hour, 600)).toBe(600);
  });

  it('does not pass the deadline', () => {
    expect(look(1_200_000, 20_000)).toBe(20);
    expect(look(1_200_000, 1)).toBe(1);
  });

  it('goes on at its pace when the deadline is over, for a loop that was stretched', () => {
    expect(look(480_000, -5_000)).toBe(60);
  });

  it('is at least a second and at most 5 minutes, or the poll', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 900 }),
        fc.integer({ min: 0, max: 100 * hour }),
        fc.integer({ min: -hour, max: 100 * hour }),
        (pollSeconds, waitedMs, endsInMs) => {
          const seconds = secondsToNextLook({ pollSeconds, waitedMs, endsInMs });
          expect(Number.isInteger(seconds)).toBe(true);
          expect(seconds).toBeGreaterThanOrEqual(1);
          expect(seconds).toBeLessThanOrEqual(Math.max(300, pollSeconds));
        },
      ),
    );
  });

  it('takes few looks for a long wait', () => {
    let looks = 0;
    for (let waited = 0; waited < hour; looks++) waited += look(waited, hour - waited) * 1000;
    expect(looks).toBeLessThan(40);
  });
});
