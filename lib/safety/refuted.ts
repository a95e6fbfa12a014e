/**
 * DaemonSets of which a replacement node showed the same gap: it was not the node. Remembered until
 * no node has a gap of that DaemonSet any more.
 */
import type { ItemKey, StateTable } from '../ports.ts';
import { KEEP_NUMBERS_SECONDS } from './episode-items.ts';
import { numberOf, textOf } from './item-fields.ts';
import { clusterPk, prefixes } from './keys.ts';

/** One such finding; the newest of each DaemonSet is kept. */
export interface Refutation {
  /** `namespace/name`. */
  daemonSet: string;
  /** The node that was replaced, and the new one that has the same gap. */
  node: string;
  newNode: string;
  /** Epoch ms. */
  at: number;
}

export class Refutations {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  async note(cluster: string, refutation: Refutation): Promise<void> {
    const ttl = Math.ceil(refutation.at / 1000) + KEEP_NUMBERS_SECONDS;
    const item = { ...refutationKey(cluster, refutation.daemonSet), ...refutation, ttl };
    await this.#table.transact([{ kind: 'put', item }]);
  }

  async list(cluster: string): Promise<Refutation[]> {
    return (await this.#table.query(clusterPk(cluster), prefixes.refuted)).map((item) => ({
      daemonSet: textOf(item, 'daemonSet'),
      node: textOf(item, 'node'),
      newNode: textOf(item, 'newNode'),
      at: numberOf(item, 'at'),
    }));
  }

  /** No node has a gap of it any more: what comes now is judged afresh. */
  async forget(cluster: string, daemonSet: string): Promise<void> {
    await this.#table.transact([{ kind: 'delete', key: refutationKey(cluster, daemonSet) }]);
  }
}

function refutationKey(cluster: string, daemonSet: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.refuted}${daemonSet}` };
}
