/**
 * One execution of `admit-nodes` a cluster, by one item of the state table.
 *
 * How it works: each execution has a number. Whoever wants one takes the next number by a
 * conditional write, which succeeds only while no execution keeps the item alive, and starts it
 * under the name that the number fixes. Every pass renews `until`. An execution that lost its
 * number ends. When one dies, `until` runs out and the next scan starts another.
 */
import type { Clock } from '../../clock.ts';
import type { Item, StateTable } from '../../ports.ts';
import { KEEP_NUMBERS_SECONDS } from '../../safety/episode-items.ts';
import { numberOf, oneOf, optionalNumber } from '../../safety/item-fields.ts';
import { admissionKey, orphanTaintKey } from '../../safety/keys.ts';
import { tellUnlessTold } from '../../safety/told.ts';

/** An execution that has made no pass for so long counts as dead. */
export const admissionLeaseMs = 90_000;
/** How long a startup taint that nobody will take off stays told. */
const toldAgainMs = 24 * 3_600_000;

export type AdmissionState = 'starting' | 'running' | 'idle';

export interface AdmissionItem {
  number: number;
  until: number;
  state: AdmissionState;
  /** When a node with a startup taint was last heard of. */
  lastSeenTainted: number;
  /** When overdue nodes were last handed over. */
  handedOverAt?: number;
}

export type StartClaim =
  /**
   * Start the execution with that number. Doing so twice is the same as once. `isNew`: nobody can
   * have started it since the number was taken.
   */
  { kind: 'start'; number: number; isNew?: true } | { kind: 'live'; number: number };

export class AdmissionStore {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Undefined for a cluster that has never had a startup taint of nodegap. */
  async load(cluster: string): Promise<AdmissionItem | undefined> {
    const item = await this.#table.get(admissionKey(cluster));
    return item === undefined ? undefined : admissionFrom(item);
  }

  /**
   * Takes the right to start an execution, unless one lives. One that was taken but has not made
   * its first pass is given again, for the starter may have died before it started it. `before` is
   * what `load` answered.
   */
  async claimStart(
    cluster: string,
    before: AdmissionItem | undefined,
    lastSeenTainted: number,
  ): Promise<StartClaim> {
    const now = this.#clock.now();
    const claim = standing(before, now);
    if (claim !== undefined) return claim;
    const number = (before?.number ?? 0) + 1;
    const outcome = await this.#table.transact([
      {
        kind: 'put',
        item: itemOf(cluster, {
          number,
          until: now + admissionLeaseMs,
          state: 'starting',
          lastSeenTainted,
        }),
        condition:
          before === undefined
            ? { kind: 'absent' }
            : {
                kind: 'all',
                of: [
                  { kind: 'equals', attribute: 'number', value: before.number },
                  // It may have lived on since it was read.
                  { kind: 'equals', attribute: 'until', value: before.until },
                ],
              },
      },
    ]);
    if (outcome.kind === 'committed') return { kind: 'start', number, isNew: true };
    const other = outcome.item === undefined ? undefined : admissionFrom(outcome.item);
    return standing(other, now) ?? { kind: 'live', number: other?.number ?? number };
  }

  /**
   * Keeps the execution alive for another 90 s. `lost` when another number has taken over:
   * `successor` tells that it is the next one and has not begun yet.
   */
  async renew(
    cluster: string,
    number: number,
  ): Promise<{ kind: 'kept'; item: AdmissionItem } | { kind: 'lost'; successor: boolean }> {
    const before = await this.load(cluster);
    if (before?.number === number) {
      const outcome = await this.#table.transact([
        {
          kind: 'update',
          key: admissionKey(cluster),
          set: {
            until: this.#clock.now() + admissionLeaseMs,
            state: 'running',
            ttl: ttlOf(this.#clock.now()),
          },
          condition: { kind: 'equals', attribute: 'number', value: number },
        },
      ]);
      if (outcome.kind === 'committed') {
        return { kind: 'kept', item: before };
      }
      return lost(outcome.item === undefined ? undefined : admissionFrom(outcome.item), number);
    }
    return lost(before, number);
  }

  /** Keeps what a pass did or saw. Nothing changes when another number has taken over. */
  async note(
    cluster: string,
    number: number,
    set: Partial<Pick<AdmissionItem, 'handedOverAt' | 'lastSeenTainted'>>,
  ): Promise<void> {
    await this.#table.transact([
      {
        kind: 'update',
        key: admissionKey(cluster),
        set: { ...set },
        condition: { kind: 'equals', attribute: 'number', value: number },
      },
    ]);
  }

  /**
   * Takes a number that was never used in place of one that was, as after the table was restored
   * or made anew: the seconds since 1970, which numbers that are taken one by one never overtake.
   * Undefined when somebody else has taken one.
   */
  async leap(cluster: string, used: number, lastSeenTainted: number): Promise<number | undefined> {
    const now = this.#clock.now();
    const number = Math.max(used + 1, Math.floor(now / 1000));
    const until = now + admissionLeaseMs;
    const outcome = await this.#table.transact([
      {
        kind: 'put',
        item: itemOf(cluster, { number, until, state: 'starting', lastSeenTainted }),
        condition: { kind: 'equals', attribute: 'number', value: used },
      },
    ]);
    return outcome.kind === 'committed' ? number : undefined;
  }

  /** Gives the next number to the successor of an execution. False when it has lost its own. */
  async handOn(cluster: string, number: number): Promise<boolean> {
    const now = this.#clock.now();
    const outcome = await this.#table.transact([
      {
        kind: 'update',
        key: admissionKey(cluster),
        set: { number: number + 1, state: 'starting', until: now + admissionLeaseMs },
        condition: { kind: 'equals', attribute: 'number', value: number },
      },
    ]);
    return outcome.kind === 'committed';
  }

  /** Says that nobody is at it any more. Nothing changes when another number has taken over. */
  async free(cluster: string, number: number): Promise<void> {
    await this.#table.transact([
      {
        kind: 'update',
        key: admissionKey(cluster),
        set: { state: 'idle', until: this.#clock.now() - 1 },
        condition: { kind: 'equals', attribute: 'number', value: number },
      },
    ]);
  }

  /** Calls `send` once a day for each NAME. When it fails it counts as not told. */
  async tellOnce(cluster: string, name: string, send: () => Promise<void>): Promise<void> {
    const key = orphanTaintKey(cluster, name);
    await tellUnlessTold(this.#table, key, this.#clock.now(), toldAgainMs, send);
  }
}

/** What an item that is alive answers to a starter; undefined when the next number may be taken. */
function standing(item: AdmissionItem | undefined, now: number): StartClaim | undefined {
  if (item === undefined || item.until < now) return undefined;
  const kind = item.state === 'starting' ? 'start' : 'live';
  return { kind, number: item.number };
}

function lost(
  item: AdmissionItem | undefined,
  number: number,
): { kind: 'lost'; successor: boolean } {
  return { kind: 'lost', successor: item?.number === number + 1 && item.state === 'starting' };
}

function admissionFrom(item: Item): AdmissionItem {
  const handedOverAt = optionalNumber(item, 'handedOverAt');
  return {
    number: numberOf(item, 'number'),
    until: numberOf(item, 'until'),
    state: oneOf(item, 'state', ['starting', 'running', 'idle']),
    lastSeenTainted: numberOf(item, 'lastSeenTainted'),
    ...(handedOverAt === undefined ? {} : { handedOverAt }),
  };
}

function itemOf(cluster: string, { handedOverAt: _, ...item }: AdmissionItem): Item {
  return { ...admissionKey(cluster), ...item, ttl: ttlOf(item.lastSeenTainted) };
}

/** Longer than Step Functions remembers the names that the numbers make. */
function ttlOf(at: number): number {
  return Math.ceil(at / 1000) + KEEP_NUMBERS_SECONDS;
}
