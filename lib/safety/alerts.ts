import type { Clock } from '../clock.ts';
import type { ItemKey, StateTable } from '../ports.ts';
import { optionalNumber } from './item-fields.ts';
import { clusterPk } from './keys.ts';
import { claimTelling } from './told.ts';

/** How long the same alert stays quiet after it was sent, while its reason lasts. */
const repeatAfterMs = 24 * 60 * 60_000;

/** How long a reason must be away before it is news again: causes and blames flap. */
const forgottenAfterMs = 30 * 60_000;

/** Keeps people from being told the same thing every minute, or twice by two scans at once. */
export class Alerts {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /**
   * Calls `send` with those of the keys that nobody has told yet, if there are any. When it fails
   * they count as not told, and the error comes through.
   */
  async tellOnce(
    cluster: string,
    keys: readonly string[],
    send: (fresh: string[]) => Promise<void>,
  ): Promise<void> {
    const fresh: string[] = [];
    const now = this.#clock.now();
    for (const key of keys) {
      if (await claimTelling(this.#table, alertKey(cluster, key), now, repeatAfterMs))
        fresh.push(key);
    }
    if (fresh.length === 0) return;
    try {
      await send(fresh);
    } catch (error) {
      for (const key of fresh) {
        await this.#table.transact([{ kind: 'delete', key: alertKey(cluster, key) }]);
      }
      throw error;
    }
  }

  /**
   * Forgets the alerts whose reason has been away for half an hour, so that they are told at once
   * when it returns. `keys` are the reasons that hold now.
   */
  async keepOnly(cluster: string, keys: ReadonlySet<string>): Promise<void> {
    const now = this.#clock.now();
    const prefix = alertKey(cluster, '').sk;
    for (const item of await this.#table.query(clusterPk(cluster), prefix)) {
      const key = { pk: item.pk, sk: item.sk };
      const goneAt = optionalNumber(item, 'goneAt');
      if (keys.has(item.sk.slice(prefix.length))) {
        if (goneAt === undefined) continue;
        await this.#table.transact([{ kind: 'update', key, remove: ['goneAt'] }]);
      } else if (goneAt === undefined) {
        await this.#table.transact([{ kind: 'update', key, set: { goneAt: now } }]);
      } else if (now - goneAt >= forgottenAfterMs) {
        await this.#table.transact([{ kind: 'delete', key }]);
      }
    }
  }
}

function alertKey(cluster: string, key: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `alert#${key}` };
}
