import { describe, expect, it } from 'vitest';
import { type HeldSlot, seemsAlive } from '../../local/remediate/liveness.ts';
import { executionOf, type Runner, thisRunner } from '../../local/remediate/runner-identity.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const elsewhere: Runner = { user: 'ann', host: 'desk', pid: 7, machine: 'aa', run: 'bb' };
/** No process of this computer has this number. */
const ended: Runner = { ...thisRunner(), pid: 4_194_305 };

function slotOf(renewedAt: number, holder: Runner | undefined, by: Runner = elsewhere): HeldSlot {
  return {
    node: 'n1',
    nodeUid: 'u1',
    execution: executionOf(by, 'prod-e1-a1'),
    acquiredAt: now - 600_000,
    renewedAt,
    durationMs: 30_000,
    holder,
    isMine: false,
  };
}

describe('whether the holder of a slot seems to live', () => {
  it.each([
    { what: 'renewed just now', renewedAt: now, alive: true },
    { what: 'by a clock that is a minute ahead', renewedAt: now + 60_000, alive: true },
    {
      what: 'silent for longer than lease and clocks allow',
      renewedAt: now - 91_000,
      alive: false,
    },
    // Otherwise nobody could end it for an hour; before it is taken over, its Lease is watched.
    { what: 'by a clock that is an hour ahead', renewedAt: now + 3_600_000, alive: false },
  ])('$what: $alive', ({ renewedAt, alive }) => {
    expect(seemsAlive(slotOf(renewedAt, elsewhere), now)).toBe(alive);
  });

  it('goes by who holds the Lease, not by who began the execution', () => {
    expect(seemsAlive(slotOf(now, thisRunner(), ended), now)).toBe(true);
    expect(seemsAlive(slotOf(now, ended, thisRunner()), now)).toBe(false);
  });
});
