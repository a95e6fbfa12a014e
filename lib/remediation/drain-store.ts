import type { Clock } from '../clock.ts';
import type { AttributeValue, ItemKey, StateTable } from '../ports.ts';
import { setOf } from '../safety/item-fields.ts';
import { clusterPk } from '../safety/keys.ts';
import type { DrainBlocker } from './drain-model.ts';

/** What a drain has learnt so far. */
export interface DrainMemory {
  /** What was in the way in the last pass; `nodegap status` shows it. */
  blockers: DrainBlocker[];
  /** Uids of the controllers whose pods were taken away, to see later that none pends. */
  owners: string[];
}

/** Longer than any attempt lasts, in seconds: the memory of one that died goes away. */
const keptSeconds = 30 * 86_400;

/** Keeps the memory of one drain an attempt, in the state table. */
export class DrainStore {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Empty when no pass was made yet. */
  async load(cluster: string, nodeUid: string): Promise<DrainMemory> {
    const item = await this.#table.get(drainKey(cluster, nodeUid));
    return {
      // Written by save() only, so the shape is its own.
      blockers: (item?.blockers ?? []) as unknown as DrainBlocker[],
      owners: [...setOf(item, 'owners')],
    };
  }

  /** Replaces the blockers and adds to the owners. */
  async save(cluster: string, nodeUid: string, memory: DrainMemory): Promise<void> {
    await this.#table.transact([
      {
        kind: 'update',
        key: drainKey(cluster, nodeUid),
        set: {
          blockers: memory.blockers.slice(0, 50).map(plain),
          ttl: Math.ceil(this.#clock.now() / 1000) + keptSeconds,
        },
        ...(memory.owners.length === 0 ? {} : { addToSet: { owners: memory.owners } }),
      },
    ]);
  }

  /** Forgets it, when the attempt is over. */
  async clear(cluster: string, nodeUid: string): Promise<void> {
    await this.#table.transact([{ kind: 'delete', key: drainKey(cluster, nodeUid) }]);
  }
}

function drainKey(cluster: string, nodeUid: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `drain#${nodeUid}` };
}

function plain(blocker: DrainBlocker): AttributeValue {
  return {
    kind: blocker.kind,
    pod: { ...blocker.pod },
    budgets: blocker.budgets.map((budget) => ({ ...budget })),
    message: blocker.message,
    since: blocker.since,
  };
}
