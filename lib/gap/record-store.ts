/**
 * Keeps gap records between scans, so that neither a restart nor a deploy forgets their age.
 *
 * How it works: one item per cluster holds the time of the newest scan that kept records. A scan
 * takes its turn by moving that time forward, reads the records after that, and every transaction
 * demands that the time is still its own. So scans keep records one after the other, in the order of
 * their times, whichever ends first: one that comes too late changes nothing, as if it had not run.
 *
 * Gotcha: with a whole cluster in trouble every record changes at every scan, if only by its
 * `lastSeen`. Such a change is written now and then only, and a scan writes no more than it can in
 * a few seconds (DynamoDB takes 1,000 write units a second in a partition, and two for each item of
 * a transaction). What is left out is what the next scan finds still to do. New records and old ones
 * share the writes, and what was written longest ago comes first, so that neither waits for ever.
 *
 * Gotcha: an item that is no gap record must not blind the detector to the whole cluster. It counts
 * as none, so its gap is seen as if for the first time, and the scan that keeps records replaces it.
 */
import type { Item, ItemKey, StateTable, Write } from '../ports.ts';
import { numberOf, stored } from '../safety/item-fields.ts';
import { newestScanKey } from '../safety/keys.ts';
import { MAX_TRANSACTION_WRITES } from '../safety/table-writes.ts';
import type { GapRecord } from './model.ts';
import { CLOCK_TOLERANCE_MS } from './records.ts';

/** A record of which nothing but `lastSeen` and `sightings` changed is written this often. */
const REFRESH_MS = 10 * 60_000;

/** Records that one scan writes at most. */
const MAX_WRITES = 2000;

/** Of these, as many as there are new records for before any other is written. */
const FIRST_FOR_NEW = MAX_WRITES / 2;

/** Tries against other scans for the turn. Each lost try means that another one won. */
const MAX_TRIES = 10;

export type KeepOutcome =
  /**
   * `records`: all that there are now. `postponed`: how many are left to the next scan.
   * `unreadable`: sort keys of items that were no gap records, and are written anew or deleted.
   */
  | { kind: 'kept'; records: GapRecord[]; postponed: number; unreadable: string[] }
  /** A younger scan has kept its records already. */
  | { kind: 'overtaken' };

/** A scan that wants to keep what it saw. */
export interface KeepingScan {
  /** When it judged, epoch ms. */
  at: number;
  /** Records that it began with: when there were none and it has none, there is nothing to do. */
  known: readonly GapRecord[];
  /** The records after it, given those before. May be asked twice. */
  next(before: readonly GapRecord[]): readonly GapRecord[];
  /** Sightings up to which each is written: as many as confirmation asks for. */
  exactSightings: number;
}

export class GapRecordStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** All records of a cluster that can be read. */
  async load(cluster: string): Promise<GapRecord[]> {
    return (await this.#read(cluster)).records;
  }

  async #read(cluster: string): Promise<{ records: GapRecord[]; unreadable: string[] }> {
    const read = { records: [] as GapRecord[], unreadable: [] as string[] };
    for (const item of await this.#table.query(partitionOf(cluster), '')) {
      const record = recordFrom(item);
      if (record === undefined) read.unreadable.push(item.sk);
      else read.records.push(record);
    }
    return read;
  }

  /**
   * Keeps the records after a scan, unless a younger scan was faster. A scan that died half way is
   * caught up with by the next.
   */
  async keep(cluster: string, scan: KeepingScan): Promise<KeepOutcome> {
    if (scan.known.length === 0 && scan.next([]).length === 0) {
      return { kind: 'kept', records: [], postponed: 0, unreadable: [] };
    }
    if (!(await this.#takeTurn(cluster, scan.at))) return { kind: 'overtaken' };
    const before = await this.#read(cluster);
    const records = scan.next(before.records).map(plain);
    const all = writesFor(cluster, before, records, scan.exactSightings);
    const writes = all.slice(0, MAX_WRITES);
    const turn: Write = {
      kind: 'check',
      key: newestScanKey(cluster),
      condition: { kind: 'equals', attribute: 'at', value: scan.at },
    };
    const room = MAX_TRANSACTION_WRITES - 1;
    for (let start = 0; start < writes.length; start += room) {
      const batch = [turn, ...writes.slice(start, start + room)];
      if ((await this.#table.transact(batch)).kind !== 'committed') return { kind: 'overtaken' };
    }
    const { unreadable } = before;
    return { kind: 'kept', records, postponed: all.length - writes.length, unreadable };
  }

  /** Whether this scan is the newest: from now on no older one writes. */
  async #takeTurn(cluster: string, at: number): Promise<boolean> {
    const key = newestScanKey(cluster);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const item = await this.#table.get(key);
      const newest = item === undefined ? undefined : numberOf(item, 'at');
      // Further ahead than any scan takes is no younger scan, but a clock that was wrong.
      const ahead = newest === undefined ? -1 : newest - at;
      if (ahead >= 0 && ahead <= CLOCK_TOLERANCE_MS) return false;
      const outcome = await this.#table.transact([
        {
          kind: 'put',
          item: { ...key, at },
          condition:
            newest === undefined
              ? { kind: 'absent' }
              : { kind: 'equals', attribute: 'at', value: newest },
        },
      ]);
      if (outcome.kind === 'committed') return true;
    }
    return false;
  }
}

/**
 * What has to be written, the most urgent first: new records up to their share, then what changed or
 * went (known longest first), then the rest of the new ones, and last mere refreshing.
 */
function writesFor(
  cluster: string,
  before: { records: readonly GapRecord[]; unreadable: readonly string[] },
  after: readonly GapRecord[],
  exactSightings: number,
): Write[] {
  const stale = new Map(before.records.map((record) => [sortKeyOf(record), record]));
  const unreadable = new Set(before.unreadable);
  const changes: { writtenAt: number; write: Write }[] = [];
  const begun: Write[] = [];
  const refreshed: Write[] = [];
  for (const record of after) {
    const sk = sortKeyOf(record);
    const old = stale.get(sk);
    stale.delete(sk);
    unreadable.delete(sk);
    const put: Write = { kind: 'put', item: itemOf(cluster, record) };
    if (old === undefined) begun.push(put);
    else if (hasChanged(old, record, exactSightings)) {
      changes.push({ writtenAt: writtenAt(old), write: put });
    } else if (record.lastSeen - old.lastSeen >= REFRESH_MS) refreshed.push(put);
  }
  for (const [sk, old] of stale) {
    changes.push({ writtenAt: writtenAt(old), write: deletion(cluster, sk) });
  }
  for (const sk of unreadable) {
    changes.push({ writtenAt: Number.NEGATIVE_INFINITY, write: deletion(cluster, sk) });
  }
  return [
    ...begun.slice(0, FIRST_FOR_NEW),
    ...changes.sort(byWrittenAt).map(({ write }) => write),
    ...begun.slice(FIRST_FOR_NEW),
    ...refreshed,
  ];
}

/** About when a record was written last, epoch ms: at the newest time that it knows. */
function writtenAt({ lastSeen, healthySince = lastSeen }: GapRecord): number {
  return Math.max(lastSeen, healthySince);
}

function byWrittenAt(a: { writtenAt: number }, b: { writtenAt: number }): number {
  return a.writtenAt === b.writtenAt ? 0 : a.writtenAt < b.writtenAt ? -1 : 1;
}

function deletion(cluster: string, sk: string): Write {
  return { kind: 'delete', key: { pk: partitionOf(cluster), sk } };
}

/** Whether more changed than how often and until when it was seen. */
function hasChanged(old: GapRecord, record: GapRecord, exactSightings: number): boolean {
  return (
    old.firstSeen !== record.firstSeen ||
    old.flaps !== record.flaps ||
    old.healthySince !== record.healthySince ||
    record.lastSeen < old.lastSeen ||
    (old.sightings !== record.sightings && old.sightings < exactSightings)
  );
}

function partitionOf(cluster: string): string {
  return `gaps#${cluster}`;
}

function sortKeyOf(record: Pick<GapRecord, 'nodeUid' | 'daemonSet'>): string {
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
  return { ...keyOf(cluster, record), ...stored({ ...record }) };
}

/** The record of an item, or undefined when it holds none, or one that belongs under another key. */
function recordFrom(item: Item): GapRecord | undefined {
  const { nodeUid, daemonSet, firstSeen, lastSeen, sightings, flaps, healthySince } = item;
  if (
    typeof nodeUid !== 'string' ||
    typeof daemonSet !== 'string' ||
    typeof firstSeen !== 'number' ||
    typeof lastSeen !== 'number' ||
    typeof sightings !== 'number' ||
    typeof flaps !== 'number' ||
    (healthySince !== undefined && typeof healthySince !== 'number')
  ) {
    return undefined;
  }
  const known = { nodeUid, daemonSet, firstSeen, lastSeen, sightings, flaps };
  if (sortKeyOf(known) !== item.sk) return undefined;
  return healthySince === undefined ? known : { ...known, healthySince };
}
