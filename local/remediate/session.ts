/** What everything about one node on one cluster at a terminal works with. */
import type { ClusterReader, ClusterWriter, StateTable } from '../../lib/ports.ts';
import type { SleepingClock } from '../clock.ts';
import type { RemediateEvent } from './events.ts';
import type { HeldSlot } from './liveness.ts';
import type { Runner } from './runner-identity.ts';

/** The state of all command lines on a cluster, as it lies in the cluster. */
export interface SharedState {
  /** Under the name that the configuration gives the cluster. */
  table: StateTable;
  /** The slots with the Leases of who has them. */
  heldSlots(): Promise<HeldSlot[]>;
  /**
   * Takes over the slot of a process that is no more: at once when that is sure, else after its
   * Lease was watched for as long as it lasts. `alive`: the process shows that it lives.
   */
  seize(nodeUid: string, signal: AbortSignal): Promise<'seized' | 'alive' | 'absent'>;
  /** Shows that this process lives until aborted; resolves early when the slot is lost. */
  keepRenewing(
    nodeUid: string,
    signal: AbortSignal,
    onFailure: (error: unknown) => void,
  ): Promise<'lost' | 'aborted'>;
  /** @throws NodegapError `State.SlotHeld` unless this process surely holds the slot. */
  hold(nodeUid: string): Promise<void>;
}

export interface Session {
  clock: SleepingClock;
  /** As the configuration calls it. */
  cluster: string;
  client: ClusterReader & ClusterWriter;
  state: SharedState;
  installation: string;
  runner: Runner;
  tell(event: Untimed<RemediateEvent>): void;
  /** The command line that calls a command of nodegap for a node, as the user would type it. */
  commandOf(command: string, node: string): string;
}

/** How a command ends: 0 done or nothing to do, 2 ended without repair, 1 an error, 128 + signal. */
export interface Ending {
  exitCode: number;
  /** Stable: docs/reason-codes.md and docs/remediate.md list them. */
  code: string;
  message: string;
}

type Untimed<T> = T extends unknown ? Omit<T, 'at'> : never;
