/** Since when nodegap and the status of a DaemonSet have counted different numbers of nodes. */
import type { Disagreement } from '../gap/status-check.ts';
import type { ItemKey, StateTable, Write } from '../ports.ts';
import { numberOf, textOf } from './item-fields.ts';
import { clusterPk, prefixes } from './keys.ts';
import { MAX_TRANSACTION_WRITES } from './table-writes.ts';

/** What no scan has touched for so long is of no use to any. */
const KEEP_SECONDS = 24 * 60 * 60;

/** Keeps disagreements between scans: a single one proves nothing. */
export class StatusStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  async load(cluster: string): Promise<Disagreement[]> {
    return (await this.#table.query(clusterPk(cluster), prefixes.status)).map((item) => ({
      daemonSet: textOf(item, 'daemonSet'),
      computed: numberOf(item, 'computed'),
      desired: numberOf(item, 'desired'),
      since: numberOf(item, 'since'),
      lastSeen: numberOf(item, 'lastSeen'),
    }));
  }

  /** Makes `next` what is remembered; `before` is what `load` gave. */
  async save(
    cluster: string,
    before: readonly Disagreement[],
    next: readonly Disagreement[],
  ): Promise<void> {
    const kept = new Set(next.map(({ daemonSet }) => daemonSet));
    const writes: Write[] = [
      ...before
        .filter(({ daemonSet }) => !kept.has(daemonSet))
        .map(({ daemonSet }): Write => ({ kind: 'delete', key: keyOf(cluster, daemonSet) })),
      ...next.map((each): Write => {
        const ttl = Math.ceil(each.lastSeen / 1000) + KEEP_SECONDS;
        return { kind: 'put', item: { ...keyOf(cluster, each.daemonSet), ...each, ttl } };
      }),
    ];
    for (let start = 0; start < writes.length; start += MAX_TRANSACTION_WRITES) {
      await this.#table.transact(writes.slice(start, start + MAX_TRANSACTION_WRITES));
    }
  }
}

function keyOf(cluster: string, daemonSet: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.status}${daemonSet}` };
}
