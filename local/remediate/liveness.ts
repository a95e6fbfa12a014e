/**
 * Whether the process that has a slot still lives. Its Lease says so, which it renews; of a process
 * on this computer the operating system knows better.
 */
import type { ExecutionStatus } from '../../lib/ports.ts';
import { hasEnded, type Runner, runnerOf, thisRunner } from './runner-identity.ts';

/** The Lease of a slot, as far as it tells of its holder. Times are epoch ms. */
export interface HeldSlot {
  node: string;
  nodeUid: string;
  execution: string;
  acquiredAt: number;
  /** The replacement was committed: verify, never undo. */
  committedAt?: number;
  renewedAt: number;
  durationMs: number;
}

export type Life =
  | { kind: 'alive' }
  /** Since when nothing of it can be at work any more, epoch ms; 0: the process is known to be gone. */
  | { kind: 'dead'; since: number };

/** Pure but for the look at the processes of this computer. */
export function lifeOf(slot: HeldSlot, now: number, own: Runner = thisRunner()): Life {
  const runner = runnerOf(slot.execution);
  if (runner !== undefined && hasEnded(runner, own)) return { kind: 'dead', since: 0 };
  const until = slot.renewedAt + slot.durationMs;
  return now < until ? { kind: 'alive' } : { kind: 'dead', since: until };
}

/** What Step Functions would answer of an execution of another process. */
export function statusElsewhere(
  slots: readonly HeldSlot[],
  execution: string,
  now: number,
): ExecutionStatus {
  const slot = slots.find((each) => each.execution === execution);
  if (slot === undefined) {
    const runner = runnerOf(execution);
    return runner !== undefined && hasEnded(runner)
      ? { kind: 'ended', endedAt: 0, status: 'ABORTED' }
      : { kind: 'not-found' };
  }
  const life = lifeOf(slot, now);
  return life.kind === 'alive'
    ? { kind: 'running' }
    : { kind: 'ended', endedAt: life.since, status: 'ABORTED' };
}
