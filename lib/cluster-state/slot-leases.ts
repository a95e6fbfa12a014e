/**
 * The Leases of slots: a process that works on a node renews its Lease, so that others can tell
 * whether it still lives, and take the slot over when it does not.
 *
 * Why a live holder is never robbed: clocks of machines differ, so `renewTime` is never compared
 * with a clock. As in Kubernetes' own leader election, an observer notes when, by its own monotonic
 * clock, it first saw a renewal, and takes the holder for dead when it still sees the same one a
 * whole lease duration later. A holder renews three times in that time, and stops acting
 * (`mayAct`) when two thirds of it have passed without a renewal, by the monotonic clock or by the
 * wall clock: the first stands still while a laptop sleeps, the second may be set.
 *
 * Why a dead one is always freed: a process that is gone renews nothing, so whoever looks for one
 * lease duration sees it. Taking over demands the resourceVersion that was judged, so it fails when
 * the holder renews after all, or when somebody else was quicker. A holder that wakes up afterwards
 * finds the Lease in other hands: it can renew no more, and the table refuses its writes.
 */
import type { Clock } from '../clock.ts';
import { NodegapError } from '../errors.ts';
import type { Item } from '../ports.ts';
import { itemFromText } from './item-text.ts';
import { placeOf } from './layout.ts';
import { microTime } from './micro-time.ts';
import type { Objects, StateObject } from './objects.ts';
import type { Patience } from './patience.ts';
import { readSnapshot } from './snapshot.ts';

/** How long a holder may be silent. */
export const DEFAULT_LEASE_SECONDS = 30;

/** A slot and who holds it. */
export interface SlotLease {
  nodeUid: string;
  /** The slot's item; `slotFrom` (lib/safety) reads it. */
  item: Item;
  holder: string | undefined;
  mine: boolean;
  /** As the holder wrote it, by its own clock: for people, never to be judged by. */
  renewTime: string | undefined;
  leaseSeconds: number;
  /** What was read, for `takeOver`. */
  object: StateObject;
}

export type Liveness =
  | { kind: 'mine' }
  /** It renewed while this process looked, or has not been looked at for long enough. */
  | { kind: 'alive' | 'unknown'; watchedMs: number }
  | { kind: 'dead' };

export interface SlotLeasesOptions {
  objects: Objects;
  installation: string;
  cluster: string;
  identity: string;
  clock: Clock;
  /** Milliseconds that only ever go on, from any beginning. */
  monotonic: () => number;
  patience: Patience;
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

interface Seen {
  what: string;
  since: number;
  renewed: boolean;
}

export class SlotLeases {
  readonly #options: SlotLeasesOptions;
  readonly #seen = new Map<string, Seen>();
  readonly #renewed = new Map<string, { monotonic: number; wall: number; leaseSeconds: number }>();
  #renewals = 0;

  constructor(options: SlotLeasesOptions) {
    this.#options = options;
  }

  /** All slots that are taken in the cluster. */
  async list(): Promise<SlotLease[]> {
    const { objects } = await readSnapshot(this.#options, { parts: ['slot'] });
    return objects.flatMap((object) => this.#leaseFrom(object) ?? []);
  }

  /** Shows that this process lives. `lost`: it does not hold the slot of that node (any more). */
  async renew(nodeUid: string): Promise<'renewed' | 'lost'> {
    const { objects, clock, monotonic, patience, identity } = this.#options;
    return patience.until('renewing a Lease', async () => {
      const begun = { monotonic: monotonic(), wall: clock.now() };
      const object = await objects.get('lease', this.#nameOf(nodeUid));
      if (object?.texts.slot === undefined || object.spec.holderIdentity !== identity) {
        this.#renewed.delete(nodeUid);
        return 'lost';
      }
      const spec = { ...object.spec, renewTime: this.#renewTime() };
      if ((await objects.replace({ ...object, spec })) === undefined) return undefined;
      this.#renewed.set(nodeUid, {
        ...begun,
        leaseSeconds: spec.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS,
      });
      return 'renewed';
    });
  }

  /** Whether the last renewal is so young that nobody can have taken the slot over. */
  mayAct(nodeUid: string): boolean {
    const last = this.#renewed.get(nodeUid);
    if (last === undefined) return false;
    const most = (last.leaseSeconds * 1000 * 2) / 3;
    const { clock, monotonic } = this.#options;
    const wall = clock.now() - last.wall;
    return monotonic() - last.monotonic < most && wall < most && wall >= 0;
  }

  /**
   * Renews three times in each lease duration until aborted, or until the slot is lost: then it
   * returns `lost`. A renewal that fails is tried again soon; `onFailure` hears of it.
   */
  async keepRenewing(
    nodeUid: string,
    signal: AbortSignal,
    onFailure: (error: unknown) => void = () => undefined,
  ): Promise<'lost' | 'aborted'> {
    while (!signal.aborted) {
      let waitMs = 1_000;
      try {
        if ((await this.renew(nodeUid)) === 'lost') return signal.aborted ? 'aborted' : 'lost';
        waitMs = ((this.#renewed.get(nodeUid)?.leaseSeconds ?? 3) * 1000) / 3;
      } catch (error) {
        onFailure(error);
      }
      await this.#options.sleep(waitMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
    return 'aborted';
  }

  /** What can be said of a holder now, from all that this process has seen of it. */
  judge(lease: SlotLease): Liveness {
    if (lease.mine) return { kind: 'mine' };
    const now = this.#options.monotonic();
    const what = JSON.stringify([lease.object.uid, lease.holder, lease.renewTime]);
    const seen = this.#seen.get(lease.nodeUid);
    if (seen === undefined || seen.what !== what) {
      const renewed = seen !== undefined;
      this.#seen.set(lease.nodeUid, { what, since: now, renewed });
      return { kind: renewed ? 'alive' : 'unknown', watchedMs: 0 };
    }
    const watchedMs = now - seen.since;
    if (watchedMs >= lease.leaseSeconds * 1000) return { kind: 'dead' };
    return { kind: seen.renewed ? 'alive' : 'unknown', watchedMs };
  }

  /**
   * Looks at a slot until its holder is known to live or to be dead: at most one lease duration.
   * `absent` when the slot is given back meanwhile, or was never taken.
   */
  async watch(
    nodeUid: string,
    signal?: AbortSignal,
  ): Promise<{ kind: 'absent' } | { kind: 'mine' | 'alive' | 'dead'; lease: SlotLease }> {
    for (;;) {
      signal?.throwIfAborted();
      const lease = (await this.list()).find((each) => each.nodeUid === nodeUid);
      if (lease === undefined) return { kind: 'absent' };
      const { kind } = this.judge(lease);
      if (kind !== 'unknown') return { kind, lease };
      await this.#options.sleep(1_000, signal);
    }
  }

  /**
   * Takes a slot over from a holder that is dead, or of which the caller knows that its process is
   * `gone`. False when it changed since it was read: judge again.
   * @throws NodegapError `State.SlotHeld` when the holder was not found dead.
   */
  async takeOver(lease: SlotLease, { gone = false }: { gone?: boolean } = {}): Promise<boolean> {
    if (lease.mine) return true;
    if (!gone && this.judge(lease).kind !== 'dead') {
      throw new NodegapError(
        'State.SlotHeld',
        `the slot of ${lease.nodeUid} is held by ${lease.holder}, which may still live`,
      );
    }
    const { objects, identity } = this.#options;
    const { spec } = lease.object;
    const renewTime = this.#renewTime();
    const taken = await objects.replace({
      ...lease.object,
      spec: {
        ...spec,
        holderIdentity: identity,
        acquireTime: renewTime,
        renewTime,
        leaseTransitions: (spec.leaseTransitions ?? 0) + 1,
      },
    });
    return taken !== undefined;
  }

  #leaseFrom(object: StateObject): SlotLease | undefined {
    const { texts, spec, name } = object;
    if (texts.slot === undefined) return undefined;
    const item = itemFromText(texts.slot, `Lease ${name}:`);
    return {
      nodeUid: item.sk.slice('slot#'.length),
      item,
      holder: spec.holderIdentity,
      mine: spec.holderIdentity === this.#options.identity,
      renewTime: spec.renewTime,
      leaseSeconds: spec.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS,
      object,
    };
  }

  #nameOf(nodeUid: string): string {
    const { cluster } = this.#options;
    return placeOf({ pk: `cluster#${cluster}`, sk: `slot#${nodeUid}` }, cluster).name;
  }

  /** Differs from every earlier one of this process, also while the clock stands still. */
  #renewTime(): string {
    this.#renewals = (this.#renewals + 1) % 1_000;
    return microTime(this.#options.clock.now(), this.#renewals);
  }
}
