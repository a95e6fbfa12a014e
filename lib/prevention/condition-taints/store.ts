/**
 * What scans have seen of conditions, in the state table: it survives restarts.
 *
 * How it works: one item for each node and rule that is on its way to or from a taint. Every write
 * goes together with the time of its run, and a run that a younger one has overtaken writes nothing:
 * what it saw is old.
 */

import type { Item, ItemKey, StateTable, Write } from '../../ports.ts';
import { numberOf, oneOf, textOf } from '../../safety/item-fields.ts';
import { clusterPk, prefixes } from '../../safety/keys.ts';
import { MAX_TRANSACTION_WRITES } from '../../safety/table-writes.ts';
import { tellUnlessTold } from '../../safety/told.ts';
import type { Sighting } from './model.ts';
import { sightingKey } from './sightings.ts';

/** While taints are held back people are told so at most once in this time. */
const toldAgainMs = 6 * 3_600_000;

/** Longer than any sighting goes on without being written again. */
const keptForMs = 7 * 24 * 3_600_000;

export class SightingStore {
  readonly #table: StateTable;
  readonly #cluster: string;

  constructor(table: StateTable, cluster: string) {
    this.#table = table;
    this.#cluster = cluster;
  }

  async load(): Promise<Sighting[]> {
    const items = await this.#table.query(clusterPk(this.#cluster), prefixes.sighting);
    return items.map(sightingFrom);
  }

  /**
   * Keeps `next` instead of `before`, what was loaded; a sighting that is the same object is not
   * written. `now` is epoch ms of the run. False when a younger run has written meanwhile.
   */
  async save(
    before: readonly Sighting[],
    next: readonly Sighting[],
    now: number,
  ): Promise<boolean> {
    const kept = new Set(next.map(sightingKey));
    const writes: Write[] = [
      ...next.filter((each) => !before.includes(each)).map((each) => this.#put(each)),
      ...before
        .filter((each) => !kept.has(sightingKey(each)))
        .map((each): Write => ({ kind: 'delete', key: this.#key(each) })),
    ];
    const most = MAX_TRANSACTION_WRITES - 1;
    for (let start = 0; start < writes.length; start += most) {
      const outcome = await this.#table.transact([
        {
          kind: 'update',
          key: { pk: clusterPk(this.#cluster), sk: 'condition-taints-run' },
          set: { at: now, ttl: Math.ceil((now + keptForMs) / 1000) },
          condition: {
            kind: 'any',
            of: [{ kind: 'absent' }, { kind: 'less-than', attribute: 'at', value: now + 1 }],
          },
        },
        ...writes.slice(start, start + most),
      ]);
      if (outcome.kind !== 'committed') return false;
    }
    return true;
  }

  /** Calls `send` unless that was told lately. When it fails it counts as not told. */
  async tellOnce(now: number, send: () => Promise<void>): Promise<void> {
    const key = { pk: clusterPk(this.#cluster), sk: 'condition-taints-told' };
    await tellUnlessTold(this.#table, key, now, toldAgainMs, send);
  }

  #key(sighting: Pick<Sighting, 'nodeUid' | 'rule'>): ItemKey {
    return {
      pk: clusterPk(this.#cluster),
      sk: `${prefixes.sighting}${sightingKey(sighting)}`,
    };
  }

  #put(sighting: Sighting): Write {
    const { nodeUid, rule, seen, since, last } = sighting;
    const ttl = Math.ceil((last + keptForMs) / 1000);
    return {
      kind: 'put',
      item: { ...this.#key(sighting), nodeUid, rule, seen, since, last, ttl },
    };
  }
}

function sightingFrom(item: Item): Sighting {
  return {
    nodeUid: textOf(item, 'nodeUid'),
    rule: textOf(item, 'rule'),
    seen: oneOf(item, 'seen', ['there', 'over']),
    since: numberOf(item, 'since'),
    last: numberOf(item, 'last'),
  };
}
