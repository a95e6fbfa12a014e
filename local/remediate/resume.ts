/** What a process that is no more left on a node, taken over (rule 10) or verified to its end. */

import { Episodes } from '../../lib/safety/episodes.ts';
import { Slots } from '../../lib/safety/slots.ts';
import type { Embedded } from '../embedded.ts';
import { busyEnding, endLost, isOver } from './begin.ts';
import type { HeldSlot } from './liveness.ts';
import { hasEnded, runnerText } from './runner-identity.ts';
import type { Ending, Session } from './session.ts';

/** Codes of attempts that ended as wished, or with nothing left to do. */
export const goodCodes: readonly string[] = [
  'replaced',
  'recovered',
  'node-gone',
  'node-recreated',
];

/**
 * Takes the slot of a dead process over. An ending when the process shows that it lives.
 */
export async function seize(
  { state, tell, clock, runner }: Session,
  slot: HeldSlot,
  signal: AbortSignal,
): Promise<Ending | undefined> {
  const { holder, durationMs, node } = slot;
  if (holder !== undefined && !hasEnded(holder, runner)) {
    const until = clock.now() + durationMs;
    const message = `${runnerText(holder)} may still work on ${node}: its Lease is watched for ${durationMs / 1000} s`;
    tell({ kind: 'waiting', code: 'node-busy', message, until });
  }
  const seized = await state.seize(slot.nodeUid, signal);
  if (seized === 'alive') return busyEnding(slot);
  tell({ kind: 'taken-over', message: 'the slot of the process that is no more was taken over' });
  return undefined;
}

/** Gives a slot that was taken over back, so that a new attempt can go on. */
export async function freeSlot(
  session: Session,
  embedded: Embedded,
  { nodeUid, execution }: HeldSlot,
): Promise<void> {
  const { clock, cluster, state } = session;
  const { config } = await embedded.ports.config();
  const slots = new Slots(state.table, clock, config.breaker, embedded.ports);
  await slots.release({ cluster, nodeUid, execution });
  await endLost(session, nodeUid);
}

/** The same when only the number of an attempt is left. True when there was one. */
export async function freeAttempt(session: Session, nodeUid: string): Promise<boolean> {
  if (!(await isOver(session, nodeUid))) return false;
  await endLost(session, nodeUid);
  return true;
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
