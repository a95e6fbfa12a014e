/**
 * Whether the process that has a slot still lives, as far as one look can tell: enough to name it to
 * people. Before anything is taken from it, its Lease is watched (SharedState.seize).
 */
import { parseTime } from '../../lib/clock.ts';
import type { LeaseSpec } from '../../lib/cluster-state/objects.ts';
import type { ExecutionStatus, Item } from '../../lib/ports.ts';
import { slotFrom } from '../../lib/safety/slot-items.ts';
import { hasEnded, type Runner, runnerFrom, runnerOf, thisRunner } from './runner-identity.ts';

/** The Lease of a slot, as far as it tells of its holder. Times are epoch ms. */
export interface HeldSlot {
  node: string;
  nodeUid: string;
  execution: string;
  acquiredAt: number;
  /** The replacement was committed: verify, never undo. */
  committedAt?: number;
  /** By the clock of the holder. */
  renewedAt: number;
  durationMs: number;
  /** Who holds its Lease: whoever took the slot over from whom the execution names. */
  holder: Runner | undefined;
  /** This process holds its Lease. */
  isMine: boolean;
}

/** A slot as its Lease shows it to the process with that identity. */
export function heldSlotOf(item: Item, spec: LeaseSpec, identity: string): HeldSlot {
  const { node, nodeUid, execution, acquiredAt, committedAt } = slotFrom(item);
  return {
    node,
    nodeUid,
    execution,
    acquiredAt,
    ...(committedAt === undefined ? {} : { committedAt }),
    renewedAt: parseTime(spec.renewTime) ?? acquiredAt,
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1000,
    holder: runnerFrom(spec.holderIdentity ?? ''),
    isMine: spec.holderIdentity === identity,
  };
}

/** Clocks of two computers differ by less than this. */
const clocksDifferMs = 60_000;

/**
 * Pure but for the look at the processes of this computer. A slot of this process is no leftover. A
 * renewal that lies further in the future than clocks differ says nothing: its holder could not be
 * ended for as long otherwise.
 */
export function seemsAlive(slot: HeldSlot, now: number, own: Runner = thisRunner()): boolean {
  if (slot.holder !== undefined && hasEnded(slot.holder, own)) return false;
  return Math.abs(now - slot.renewedAt) < slot.durationMs + clocksDifferMs;
}

/**
 * What Step Functions would answer of an execution of another process. A slot whose Lease is not
 * ours counts as in work, since nobody else may free it; one that was seized as ended.
 */
export function statusElsewhere(slots: readonly HeldSlot[], execution: string): ExecutionStatus {
  const ended: ExecutionStatus = { kind: 'ended', endedAt: 0, status: 'ABORTED' };
  const slot = slots.find((each) => each.execution === execution);
  if (slot !== undefined) return slot.isMine ? ended : { kind: 'running' };
  const runner = runnerOf(execution);
  return runner !== undefined && hasEnded(runner) ? ended : { kind: 'not-found' };
}
