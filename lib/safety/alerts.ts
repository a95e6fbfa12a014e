import type { Clock } from '../clock.ts';
import type { ItemKey, StateTable } from '../ports.ts';
import { clusterPk } from './keys.ts';

/** How long the same alert stays quiet after it was sent, while its reason lasts. */
const repeatAfterMs = 24 * 60 * 60_000;

/** Keeps people from being told the same thing every minute. */
export class Alerts {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** True for whoever is to send the alert of that key now; false when it was sent already. */
  async claim(cluster: string, key: string): Promise<boolean> {
    const now = this.#clock.now();
    const until = now + repeatAfterMs;
    const outcome = await this.#table.transact([
      {
        kind: 'put',
        item: { ...alertKey(cluster, key), until, ttl: Math.ceil(until / 1000) },
        condition: {
          kind: 'any',
          of: [{ kind: 'absent' }, { kind: 'less-than', attribute: 'until', value: now }],
        },
      },
    ]);
    return outcome.kind === 'committed';
  }

  /** Forgets the alerts whose reason is gone, so that they are told at once when it returns. */
  async keepOnly(cluster: string, keys: ReadonlySet<string>): Promise<void> {
    const prefix = alertKey(cluster, '').sk;
    for (const item of await this.#table.query(clusterPk(cluster), prefix)) {
      if (!keys.has(item.sk.slice(prefix.length))) {
        await this.#table.transact([{ kind: 'delete', key: { pk: item.pk, sk: item.sk } }]);
      }
    }
  }
}

function alertKey(cluster: string, key: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `alert#${key}` };
}
