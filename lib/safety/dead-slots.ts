/**
 * Gives back what executions that are no more left behind. The janitor's event is best effort, so
 * every scan looks at all slots.
 */
import { messageOf } from '../errors.ts';
import type { ExecutionStatus, StateTable, Write } from '../ports.ts';
import { setOf } from './item-fields.ts';
import { clusterPk, prefixes, slotKey } from './keys.ts';
import type { Places, Slot } from './slot-items.ts';

export interface DeadSlots {
  freed: Slot[];
  /** Dead, but the destructive call may have been made: the replacement must be verified. */
  committed: Slot[];
  /** Nothing could be learnt about their execution: left as they are. */
  unknown: { slot: Slot; reason: string }[];
  /** Uids of nodes whose places were taken without a slot (its item was deleted by hand). */
  ghosts: string[];
}

export async function freeDeadSlots(input: {
  table: StateTable;
  cluster: string;
  read: () => Promise<{ places: Places; slots: Slot[] }>;
  statusOf: (execution: string) => Promise<ExecutionStatus>;
  now: number;
  longestFunctionTimeoutMs: number;
  /** False when the slot changed meanwhile. */
  free: (slot: Slot) => Promise<boolean>;
}): Promise<DeadSlots> {
  const { places, slots } = await input.read();
  const result: DeadSlots = { freed: [], committed: [], unknown: [], ghosts: [] };
  for (const slot of slots) {
    let status: ExecutionStatus;
    try {
      status = await input.statusOf(slot.execution);
    } catch (error) {
      // A failed read says nothing about the execution, and must not hide the other slots.
      result.unknown.push({ slot, reason: messageOf(error) });
      continue;
    }
    if (!isDead(slot, status, input.now - input.longestFunctionTimeoutMs)) continue;
    if (slot.committedAt !== undefined) result.committed.push(slot);
    else if (await input.free(slot)) result.freed.push(slot);
  }
  const owned = new Set(slots.map((slot) => slot.nodeUid));
  for (const nodeUid of places.inWork) {
    if (!owned.has(nodeUid) && (await freeGhost(input.table, input.cluster, nodeUid))) {
      result.ghosts.push(nodeUid);
    }
  }
  return result;
}

/**
 * A function that an ended execution started may still run, so its slot is dead only once the
 * longest one must be over. An execution that is not found is judged by the slot's own age.
 */
function isDead(slot: Slot, status: ExecutionStatus, before: number): boolean {
  if (status.kind === 'running') return false;
  return (status.kind === 'ended' ? status.endedAt : slot.acquiredAt) < before;
}

async function freeGhost(table: StateTable, cluster: string, nodeUid: string): Promise<boolean> {
  const scopes = await table.query(clusterPk(cluster), prefixes.places);
  const writes: Write[] = scopes
    .filter((item) => setOf(item, 'inWork').has(nodeUid))
    .map(({ pk, sk }) => ({
      kind: 'update',
      key: { pk, sk },
      increment: { version: 1 },
      removeFromSet: { inWork: [nodeUid], working: [nodeUid] },
    }));
  if (writes.length === 0) return false;
  const outcome = await table.transact([
    { kind: 'check', key: slotKey(cluster, nodeUid), condition: { kind: 'absent' } },
    ...writes,
  ]);
  return outcome.kind === 'committed';
}
