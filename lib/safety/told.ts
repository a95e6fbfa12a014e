import type { ItemKey, StateTable } from '../ports.ts';

/**
 * Takes the right to tell people something, for so long: false when somebody has it. `ms` is how
 * long the same stays told.
 */
export async function claimTelling(
  table: StateTable,
  key: ItemKey,
  now: number,
  ms: number,
): Promise<boolean> {
  const until = now + ms;
  const outcome = await table.transact([
    {
      kind: 'put',
      item: { ...key, until, ttl: Math.ceil(until / 1000) },
      condition: {
        kind: 'any',
        of: [{ kind: 'absent' }, { kind: 'less-than', attribute: 'until', value: now }],
      },
    },
  ]);
  return outcome.kind === 'committed';
}

/** Calls `send` unless that was told lately. When it fails it counts as not told. */
export async function tellUnlessTold(
  table: StateTable,
  key: ItemKey,
  now: number,
  ms: number,
  send: () => Promise<void>,
): Promise<void> {
  if (!(await claimTelling(table, key, now, ms))) return;
  try {
    await send();
  } catch (error) {
    await table.transact([{ kind: 'delete', key }]);
    throw error;
  }
}
