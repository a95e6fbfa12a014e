/** What a process that is no more left on a node, taken over (rule 10) or verified to its end. */

import { longestFunctionTimeoutSeconds } from '../../lib/aws/function-timeouts.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { Slots } from '../../lib/safety/slots.ts';
import type { Embedded } from '../embedded.ts';
import { endLost, isOver } from './begin.ts';
import { type HeldSlot, lifeOf } from './liveness.ts';
import type { Ending, Session } from './session.ts';

/** Codes of attempts that ended as wished, or with nothing left to do. */
export const goodCodes: readonly string[] = [
  'replaced',
  'recovered',
  'node-gone',
  'node-recreated',
];

/**
 * Gives the slot of a dead process back, so that a new attempt can go on; waits until nothing that
 * it began can be at work any more.
 */
export async function freeSlot(
  session: Session,
  embedded: Embedded,
  slot: HeldSlot,
  signal: AbortSignal,
): Promise<void> {
  const { clock, cluster, state, tell } = session;
  await untilSurelyDead(session, slot, signal);
  const { config } = await embedded.ports.config();
  const slots = new Slots(state.table, clock, config.breaker, embedded.ports);
  const { nodeUid, execution } = slot;
  const outcome = await slots.release({ cluster, nodeUid, execution });
  tell({ kind: 'taken-over', message: `the slot that it left is ${outcome}` });
  await endLost(session, nodeUid);
}

/** The same when only the number of an attempt is left. True when there was one. */
export async function freeAttempt(session: Session, nodeUid: string): Promise<boolean> {
  if (!(await isOver(session, nodeUid))) return false;
  await endLost(session, nodeUid);
  return true;
}

/** A process that is only silent may have a call under way for as long as a function may run. */
async function untilSurelyDead(
  { clock, tell }: Session,
  slot: HeldSlot,
  signal: AbortSignal,
): Promise<void> {
  const life = lifeOf(slot, clock.now());
  if (life.kind === 'alive') return;
  const until = life.since + longestFunctionTimeoutSeconds * 1000;
  if (clock.now() >= until) return;
  const message = 'its process is silent, and may still have a call under way';
  tell({ kind: 'waiting', code: 'slot-committed', message, until });
  await clock.sleep(until - clock.now(), signal);
}

/** Looks, as every scan does, how a committed replacement ends. */
export async function verifyCommitted(
  session: Session,
  embedded: Embedded,
  slot: HeldSlot,
  signal: AbortSignal,
): Promise<Ending> {
  const { clock, cluster, state, tell } = session;
  const { config } = await embedded.ports.config();
  const { node, nodeUid } = slot;
  for (;;) {
    await embedded.scan(cluster);
    const held = await state.heldSlots();
    if (!held.some((each) => each.nodeUid === nodeUid)) break;
    const until = clock.now() + Math.min(30, config.timings.poll) * 1000;
    const message = `the replacement of ${node} was committed; looking how it ends`;
    tell({ kind: 'waiting', code: 'slot-committed', message, until });
    await clock.sleep(until - clock.now(), signal);
  }
  const last = (await new Episodes(state.table, clock).attempts(cluster, nodeUid)).at(-1);
  const { code, message } = last ?? {
    code: 'verification-lost',
    message: 'nothing is known of it',
  };
  return { exitCode: goodCodes.includes(code) ? 0 : 2, code, message };
}
