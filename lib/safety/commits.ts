/** The conditional commit before the destructive call, and the replacements of the last hour. */
import type { Clock } from '../clock.ts';
import type { BreakerConfig } from '../config/model.ts';
import { NodegapError } from '../errors.ts';
import type { Item, StateTable, Write } from '../ports.ts';
import { judgeBreakerStates } from './breaker.ts';
import { numberOf } from './item-fields.ts';
import { hourKey, slotKey } from './keys.ts';
import { scopesContaining } from './scope.ts';
import { gateChecks, judgeGate, readGate } from './slot-gate.ts';
import type { Slot } from './slot-items.ts';
import { HOUR_MS, judgeHour, type Refusal } from './slot-judge.ts';
import { stillOwned } from './slot-writes.ts';
import { requestToken } from './table-writes.ts';

/** A committed replacement, kept for an hour. */
export type Commit = { at: number; nodeUid: string; execution: string };

export async function readCommits(table: StateTable, cluster: string): Promise<Commit[]> {
  const item = await table.get(hourKey(cluster));
  return item === undefined ? [] : commitsOf(item);
}

/** One try to commit a slot. Undefined when something changed meanwhile: read and ask again. */
export async function commitSlot(
  table: StateTable,
  clock: Clock,
  limits: BreakerConfig,
  slot: Slot,
): Promise<
  | { kind: 'committed' }
  | { kind: 'refused'; code: 'slot-parked'; message: string }
  | Refusal
  | undefined
> {
  if (slot.committedAt !== undefined) return { kind: 'committed' };
  if (slot.parkedAt !== undefined) {
    const message = `the slot of ${slot.node} waits for a person: resume it first`;
    return { kind: 'refused', code: 'slot-parked', message };
  }
  const [gate, hour] = await Promise.all([
    readGate(table, clock, slot),
    table.get(hourKey(slot.cluster)),
  ]);
  const now = clock.now();
  const breaker = judgeBreakerStates(
    scopesContaining(slot),
    gate.breakerStates,
    now,
    limits.coolDown * 1000,
  );
  const commits = hour === undefined ? [] : commitsOf(hour);
  const refusal =
    judgeGate(gate, slot, breaker, limits) ??
    judgeHour({ commits: commits.map(({ at }) => at), limits, now });
  if (refusal !== undefined) return refusal;

  const recent = commits.filter(({ at }) => at > now - HOUR_MS);
  const { nodeUid, execution } = slot;
  const version = hour === undefined ? 0 : numberOf(hour, 'version');
  const writes: Write[] = [
    {
      kind: 'update',
      key: slotKey(slot.cluster, nodeUid),
      set: { committedAt: now },
      condition: {
        kind: 'all',
        of: [
          ...stillOwned(slot),
          { kind: 'attribute-absent', attribute: 'committedAt' },
          { kind: 'attribute-absent', attribute: 'parkedAt' },
        ],
      },
    },
    {
      kind: 'put',
      item: {
        ...hourKey(slot.cluster),
        version: version + 1,
        commits: [...recent, { at: now, nodeUid, execution }],
      },
      condition:
        version === 0
          ? { kind: 'absent' }
          : { kind: 'equals', attribute: 'version', value: version },
    },
    ...gateChecks(slot, limits, now),
  ];
  const outcome = await table.transact(writes, requestToken(execution, writes));
  return outcome.kind === 'committed' ? { kind: 'committed' } : undefined;
}

function commitsOf(item: Item): Commit[] {
  const { commits } = item;
  if (!Array.isArray(commits)) throw corrupt(item);
  return commits.map((commit) => {
    if (commit === null || typeof commit !== 'object' || Array.isArray(commit)) throw corrupt(item);
    if (commit instanceof Set) throw corrupt(item);
    const { at, nodeUid, execution } = commit;
    if (typeof at !== 'number' || typeof nodeUid !== 'string' || typeof execution !== 'string') {
      throw corrupt(item);
    }
    return { at, nodeUid, execution };
  });
}

function corrupt(item: Item): NodegapError {
  return new NodegapError(
    'State.Corrupt',
    `item ${item.pk} ${item.sk} of the state table: attribute commits is not a list of commits`,
  );
}
