/**
 * Slots: the right to work on a node, a lease on it plus places in its pool, its zone and the
 * cluster.
 *
 * How it works: every change to a slot goes through the cluster's `places` item and raises its
 * version. To take a place, that item is read first, then everything else; the judgement is made
 * on that, and one transaction demands that the version still stands. So concurrent executions
 * take places one after the other, each on what the one before left.
 *
 * Gotchas: a query may show only a part of a transaction that is under way (DynamoDB isolates it
 * no further), so places without a visible slot count too. A changed version means reading again,
 * never a refusal. Releasing needs no judgement: it cannot be refused by a breaker.
 */
import type { Clock } from '../clock.ts';
import type { BreakerConfig } from '../config/model.ts';
import { NodegapError } from '../errors.ts';
import { backoffMs, type Pacing } from '../pacing.ts';
import type { Condition, ExecutionStatus, StateTable, Write } from '../ports.ts';
import { type CanaryOutcome, readCanary, settleCanary } from './canaries.ts';
import { commitSlot, readCommits } from './commits.ts';
import { type DeadSlots, freeDeadSlots } from './dead-slots.ts';
import { clusterPk, placesKey, prefixes, slotKey } from './keys.ts';
import { reopeningOf } from './reopening.ts';
import { CLUSTER_SCOPE, scopesContaining } from './scope.ts';
import { readGate } from './slot-gate.ts';
import {
  type Places,
  placesFrom,
  type Slot,
  type SlotRef,
  type SlotRequest,
  slotFrom,
  slotOn,
} from './slot-items.ts';
import { areFresh, judgeCaps, judgeSlot, type Refusal } from './slot-judge.ts';
import { acquisition, stillOwned, takePlaces, updatePlaces } from './slot-writes.ts';
import { requestToken } from './table-writes.ts';

export type { CanaryOutcome } from './canaries.ts';
export type { DeadSlots } from './dead-slots.ts';
export type { Slot, SlotRef, SlotRequest } from './slot-items.ts';
export { slotOn } from './slot-items.ts';

export type SlotOutcome = { kind: 'acquired'; fence: number } | Refusal;
export interface SlotLost {
  kind: 'refused';
  code: 'slot-lost';
  message: string;
}
export type ParkOutcome = { kind: 'parked' } | SlotLost;
export type ResumeOutcome = { kind: 'resumed' } | SlotLost | Refusal;
export type CommitOutcome =
  | { kind: 'committed' }
  | SlotLost
  | Refusal
  | { kind: 'refused'; code: 'slot-parked'; message: string };

/** Tries against others who change the same cluster's slots, before giving up with an error. */
const MAX_TRIES = 60;

export class Slots {
  readonly #table: StateTable;
  readonly #clock: Clock;
  readonly #limits: BreakerConfig;
  readonly #pacing: Pacing;

  constructor(table: StateTable, clock: Clock, limits: BreakerConfig, deps: Pacing) {
    this.#table = table;
    this.#clock = clock;
    this.#limits = limits;
    this.#pacing = deps;
  }

  /**
   * Takes the slot of a node, in one transaction with its places. Asked again by the execution
   * that has it, it answers the same with the same fence.
   * @throws NodegapError `State.Contended` when others kept changing the slots, until the tries or
   * the counts had run out: asked again on new counts, it may well get the slot.
   */
  async acquire(request: SlotRequest): Promise<SlotOutcome> {
    const wasFresh = areFresh(request, this.#clock.now());
    return this.#untilSettled(request.cluster, async () => {
      const { own, places, gate, canary, now, refusal } = await this.#judged(request);
      if (own !== undefined) return { kind: 'acquired', fence: own.fence };
      // They grew old over the changes of others, which is no reason to refuse.
      if (refusal?.code === 'counts-stale' && wasFresh && !areFresh(request, now)) {
        throw contended(request.cluster);
      }
      if (refusal !== undefined) return refusal;

      const { counts: _counts, countedAt: _countedAt, ...lease } = request;
      const slot: Slot = { ...lease, fence: places.fence + 1, acquiredAt: now };
      const scopes = scopesContaining(request);
      const reopening = reopeningOf(scopes, gate.breakerStates, now, this.#limits);
      const writes = acquisition(slot, { places, canary, limits: this.#limits, now, reopening });
      const outcome = await this.#table.transact(writes, requestToken(slot.execution, writes));
      return outcome.kind === 'committed' ? { kind: 'acquired', fence: slot.fence } : undefined;
    });
  }

  /** Why `acquire` would refuse the slot now; undefined when it would give it. Takes nothing. */
  async refusalOf(request: SlotRequest): Promise<Refusal | undefined> {
    return (await this.#judged(request)).refusal;
  }

  /** What is known now, and the judgement on it; none on a slot that the execution has already. */
  async #judged(request: SlotRequest) {
    const { places, slots } = await this.#read(request.cluster);
    const [gate, canary, commits] = await Promise.all([
      readGate(this.#table, this.#clock, request),
      request.canaryFor === undefined
        ? undefined
        : readCanary(this.#table, request.cluster, request.canaryFor),
      readCommits(this.#table, request.cluster),
    ]);
    const now = this.#clock.now();
    const own = slots.find(
      ({ nodeUid, execution }) => nodeUid === request.nodeUid && execution === request.execution,
    );
    const at = commits.map((commit) => commit.at);
    const facts = { now, places, slots, gate, canary, commits: at, limits: this.#limits };
    const refusal = own === undefined ? judgeSlot(request, facts) : undefined;
    return { own, places, gate, canary, now, refusal };
  }

  /**
   * Gives up the parallel place while the execution waits for a person. The lease and the place in
   * the breaker's count stay.
   */
  async park(ref: SlotRef): Promise<ParkOutcome> {
    return this.#untilSettled(ref.cluster, async () => {
      const slot = await this.#owned(ref);
      if (slot === undefined) return slotLost(ref);
      if (slot.parkedAt !== undefined) return { kind: 'parked' };
      const writes: Write[] = [
        {
          kind: 'update',
          key: slotKey(slot.cluster, slot.nodeUid),
          set: { parkedAt: this.#clock.now() },
          condition: {
            kind: 'all',
            of: [...stillOwned(slot), { kind: 'attribute-absent', attribute: 'parkedAt' }],
          },
        },
        ...updatePlaces(slot, () => ({ removeFromSet: { working: [slot.nodeUid] } })),
      ];
      const outcome = await this.#table.transact(writes);
      return outcome.kind === 'committed' ? { kind: 'parked' } : undefined;
    });
  }

  /** Takes the parallel place again, or is refused with the code of the cap that is reached. */
  async resume(ref: SlotRef): Promise<ResumeOutcome> {
    return this.#untilSettled(ref.cluster, async () => {
      const { places, slots } = await this.#read(ref.cluster);
      const slot = await this.#owned(ref);
      if (slot === undefined) return slotLost(ref);
      if (slot.parkedAt === undefined) return { kind: 'resumed' };
      const refusal = judgeCaps(slot, { places, slots, limits: this.#limits });
      if (refusal !== undefined) return refusal;
      const writes: Write[] = [
        {
          kind: 'update',
          key: slotKey(slot.cluster, slot.nodeUid),
          remove: ['parkedAt'],
          condition: {
            kind: 'all',
            of: [
              ...stillOwned(slot),
              { kind: 'equals', attribute: 'parkedAt', value: slot.parkedAt },
            ],
          },
        },
        ...takePlaces(slot, places, this.#limits, ['working']),
      ];
      const outcome = await this.#table.transact(writes);
      return outcome.kind === 'committed' ? { kind: 'resumed' } : undefined;
    });
  }

  /**
   * The last gate right before the one destructive call: the slot is still owned under that fence,
   * nothing closed the breaker's or a person's gate, and the replacement takes its place in the
   * hour. Asked again by the owner of a committed slot, it answers the same.
   */
  async commit(ref: SlotRef & { fence: number }): Promise<CommitOutcome> {
    return this.#untilSettled<CommitOutcome>(ref.cluster, async () => {
      const slot = await this.#owned(ref);
      if (slot === undefined) return slotLost(ref);
      return commitSlot(this.#table, this.#clock, this.#limits, slot);
    });
  }

  /**
   * Gives lease and places back; the canary's place is settled by itself. A committed slot is kept
   * (`committed`) unless the caller says that the replacement is verified.
   */
  async release(
    ref: SlotRef,
    options: { verified?: boolean } = {},
  ): Promise<'released' | 'absent' | 'not-owner' | 'committed'> {
    return this.#untilSettled(ref.cluster, async () => {
      const slot = await slotOn(this.#table, ref.cluster, ref.nodeUid);
      if (slot === undefined) return 'absent';
      if (!isOwner(ref, slot)) return 'not-owner';
      if (options.verified) return (await this.#free(slot, [])) ? 'released' : undefined;
      if (slot.committedAt !== undefined) return 'committed';
      return (await this.#free(slot, [notCommitted])) ? 'released' : undefined;
    });
  }

  /** All slots of a cluster. */
  async list(cluster: string): Promise<Slot[]> {
    return (await this.#table.query(clusterPk(cluster), prefixes.slot)).map(slotFrom);
  }

  /** Closes the case of a canary: from then on, or a day later, another node may be taken. */
  async settle(
    cluster: string,
    daemonSet: string,
    nodeUid: string,
    outcome: CanaryOutcome,
  ): Promise<void> {
    const target = { cluster, daemonSet, nodeUid };
    await settleCanary(this.#table, target, outcome, this.#clock.now());
  }

  /**
   * Frees the slots whose execution ended longer ago than the longest function may run, whether
   * the node still exists or not. Committed ones are returned for verification, never freed.
   */
  async freeDeadSlots(
    cluster: string,
    statusOf: (execution: string) => Promise<ExecutionStatus>,
    now: number,
    longestFunctionTimeoutMs: number,
  ): Promise<DeadSlots> {
    return freeDeadSlots({
      read: () => this.#read(cluster),
      statusOf,
      now,
      longestFunctionTimeoutMs,
      free: (slot) => this.#free(slot, [notCommitted]),
      table: this.#table,
      cluster,
    });
  }

  /** The places first: what is read after them is at least as new as their version. */
  async #read(cluster: string): Promise<{ places: Places; slots: Slot[] }> {
    const places = placesFrom(await this.#table.get(placesKey(cluster, CLUSTER_SCOPE)));
    return { places, slots: await this.list(cluster) };
  }

  async #owned(ref: SlotRef): Promise<Slot | undefined> {
    const slot = await slotOn(this.#table, ref.cluster, ref.nodeUid);
    return slot !== undefined && isOwner(ref, slot) ? slot : undefined;
  }

  /** False when the slot is not the one that was read any more. */
  async #free(slot: Slot, conditions: Condition[]): Promise<boolean> {
    const writes: Write[] = [
      {
        kind: 'delete',
        key: slotKey(slot.cluster, slot.nodeUid),
        condition: { kind: 'all', of: [...stillOwned(slot), ...conditions] },
      },
      ...updatePlaces(slot, () => ({
        removeFromSet: { inWork: [slot.nodeUid], working: [slot.nodeUid] },
      })),
    ];
    return (await this.#table.transact(writes)).kind === 'committed';
  }

  /** Repeats `step` until it answers, waiting a little longer each time. */
  async #untilSettled<T>(cluster: string, step: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const answer = await step();
      if (answer !== undefined) return answer;
      await this.#pacing.sleep(backoffMs(tries, this.#pacing.random, { baseMs: 20, maxMs: 1_000 }));
    }
    throw contended(cluster);
  }
}

function contended(cluster: string): NodegapError {
  const message = `the slots of cluster ${cluster} kept changing under the same request`;
  return new NodegapError('State.Contended', message, { hint: 'try again' });
}

const notCommitted: Condition = { kind: 'attribute-absent', attribute: 'committedAt' };

function isOwner(ref: SlotRef, slot: Slot): boolean {
  return slot.execution === ref.execution && (ref.fence === undefined || ref.fence === slot.fence);
}

function slotLost(ref: SlotRef): SlotLost {
  const message = `${ref.execution} does not have the slot of node ${ref.nodeUid} any more`;
  return { kind: 'refused', code: 'slot-lost', message };
}
