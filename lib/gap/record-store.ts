import { isDeepStrictEqual } from 'node:util';
import type { Item, ItemKey, StateTable, Write } from '../ports.ts';
import { numberOf, optionalNumber, stored, textOf } from '../safety/item-fields.ts';
import { MAX_TRANSACTION_WRITES } from '../safety/table-writes.ts';
import type { GapRecord } from './model.ts';

/** Keeps gap records between scans, so that neither a restart nor a deploy forgets their age. */
export class GapRecordStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** All records of a cluster. */
  async load(cluster: string): Promise<GapRecord[]> {
    return (await this.#table.query(partitionOf(cluster), '')).map(recordFrom);
  }

  /**
   * Makes `records` the records of the cluster: writes those that changed and deletes those that
   * are not among them. Each batch is atomic; a scan that died between two of them is caught up
   * with by the next.
   */
  async save(cluster: string, records: readonly GapRecord[]): Promise<void> {
    const before = new Map((await this.load(cluster)).map((record) => [sortKeyOf(record), record]));
    const writes: Write[] = [];
    for (const record of records) {
      const sk = sortKeyOf(record);
      if (!isDeepStrictEqual(before.get(sk), plain(record))) {
        writes.push({ kind: 'put', item: itemOf(cluster, record) });
      }
      before.delete(sk);
    }
    for (const gone of before.values()) {
      writes.push({ kind: 'delete', key: keyOf(cluster, gone) });
    }
    for (let start = 0; start < writes.length; start += MAX_TRANSACTION_WRITES) {
      await this.#table.transact(writes.slice(start, start + MAX_TRANSACTION_WRITES));
    }
  }
}

function partitionOf(cluster: string): string {
  return `gaps#${cluster}`;
}

function sortKeyOf(record: GapRecord): string {
  return `${record.nodeUid}#${record.daemonSet}`;
}

function keyOf(cluster: string, record: GapRecord): ItemKey {
  return { pk: partitionOf(cluster), sk: sortKeyOf(record) };
}

/** The record as it comes back from the table: known fields only, none of them undefined. */
function plain(record: GapRecord): GapRecord {
  const { nodeUid, daemonSet, firstSeen, lastSeen, sightings, flaps, healthySince } = record;
  return {
    nodeUid,
    daemonSet,
    firstSeen,
    lastSeen,
    sightings,
    flaps,
    ...(healthySince === undefined ? {} : { healthySince }),
  };
}

function itemOf(cluster: string, record: GapRecord): Item {
  return { ...keyOf(cluster, record), ...stored({ ...plain(record) }) };
}

function recordFrom(item: Item): GapRecord {
  const healthySince = optionalNumber(item, 'healthySince');
  return {
    nodeUid: textOf(item, 'nodeUid'),
    daemonSet: textOf(item, 'daemonSet'),
    firstSeen: numberOf(item, 'firstSeen'),
    lastSeen: numberOf(item, 'lastSeen'),
    sightings: numberOf(item, 'sightings'),
    flaps: numberOf(item, 'flaps'),
    ...(healthySince === undefined ? {} : { healthySince }),
  };
}
