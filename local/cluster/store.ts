/**
 * The objects of the simulated cluster, with the bookkeeping of the API server: uid,
 * resourceVersion, generation, deletion by finalizers and grace.
 *
 * Gotcha: stored objects are live. Controllers change them in place and call `changed`; whatever
 * leaves the simulation is a copy (`structuredClone` or JSON).
 */
import { isoTime } from '../../lib/clock.ts';
import { keyOf, type ObjectMeta } from '../../lib/kubernetes/objects.ts';
import { nameSuffix, type Random, uid } from './random.ts';
import { infoOf, type Kinds, type Resource, resourceTable } from './resources.ts';
import type { Timeline } from './timeline.ts';

/** An object before the store has given it its identity. */
export type Draft<T extends { metadata: ObjectMeta }> = Omit<T, 'metadata'> & {
  metadata: Omit<ObjectMeta, 'uid' | 'name'> & { name?: string; generateName?: string };
};

/** `heartbeat` is a status write that says nothing new; only the resourceVersion moves. */
export type Aspect = 'metadata' | 'spec' | 'status' | 'heartbeat';

export type StoreChange = {
  [R in Resource]:
    | { type: 'added' | 'removed'; resource: R; object: Kinds[R] }
    | { type: 'changed'; resource: R; object: Kinds[R]; aspect: Aspect };
}[Resource];

export class Store {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #objects = new Map<Resource, Map<string, Kinds[Resource]>>();
  readonly #listeners: ((change: StoreChange) => void)[] = [];
  #resourceVersion = 1000;
  #progress = 0;

  constructor(timeline: Timeline, random: Random) {
    this.#timeline = timeline;
    this.#random = random;
    for (const { resource } of resourceTable) this.#objects.set(resource, new Map());
  }

  /** The newest resourceVersion of the whole store. */
  get resourceVersion(): string {
    return String(this.#resourceVersion);
  }

  /** Counts the changes so far, but for Events and heartbeats. */
  get progress(): number {
    return this.#progress;
  }

  /** `listener` hears of every change, after it is made, in the order of subscription. */
  subscribe(listener: (change: StoreChange) => void): void {
    this.#listeners.push(listener);
  }

  /** Live objects in the order of namespace and name, as etcd's keys give them. */
  list<R extends Resource>(resource: R): Kinds[R][] {
    const all = [...this.#map(resource).values()];
    return all.sort((a, b) => compareText(keyOf(a), keyOf(b)));
  }

  /** Live objects in the order of their creation: cheaper, for controllers. */
  values<R extends Resource>(resource: R): IterableIterator<Kinds[R]> {
    return this.#map(resource).values();
  }

  /** By `namespace/name`, or by the bare name of a cluster-scoped object. */
  get<R extends Resource>(resource: R, key: string): Kinds[R] | undefined {
    return this.#map(resource).get(key);
  }

  /** True while this very object (not another one of that name) is stored. */
  has<R extends Resource>(resource: R, object: Kinds[R]): boolean {
    return this.get(resource, keyOf(object)) === object;
  }

  /** Stores a new object. Throws when the name is taken. */
  create<R extends Resource>(resource: R, draft: Draft<Kinds[R]>): Kinds[R] {
    const { generateName, ...rest } = draft.metadata;
    const name = rest.name ?? `${generateName ?? ''}${nameSuffix(this.#random)}`;
    const metadata: ObjectMeta = {
      ...rest,
      name,
      ...(generateName === undefined ? {} : { generateName }),
      uid: uid(this.#random),
      resourceVersion: this.#nextVersion(),
      ...(infoOf(resource).hasGeneration ? { generation: 1 } : {}),
      creationTimestamp: isoTime(this.#timeline.now),
    };
    const object = { ...draft, metadata } as unknown as Kinds[R];
    const key = keyOf(object);
    if (this.#map(resource).has(key)) throw new Error(`${resource} "${key}" already exists`);
    this.#map(resource).set(key, object);
    this.#notify({ type: 'added', resource, object } as StoreChange);
    return object;
  }

  /** Records that a live object was changed in place. */
  changed<R extends Resource>(resource: R, object: Kinds[R], aspect: Aspect): void {
    if (!this.has(resource, object)) return;
    const { metadata } = object;
    metadata.resourceVersion = this.#nextVersion();
    if (aspect === 'spec' && metadata.generation !== undefined) metadata.generation++;
    this.#notify({ type: 'changed', resource, object, aspect } as StoreChange);
  }

  /**
   * What DELETE does: the object goes at once, or, when finalizers or `graceSeconds` hold it back,
   * it is marked and someone removes it later. Asking twice changes nothing.
   */
  requestDeletion<R extends Resource>(resource: R, object: Kinds[R], graceSeconds = 0): void {
    const { metadata } = object;
    if (metadata.deletionTimestamp !== undefined || !this.has(resource, object)) return;
    if (graceSeconds === 0 && (metadata.finalizers ?? []).length === 0) {
      this.remove(resource, object);
      return;
    }
    metadata.deletionTimestamp = isoTime(this.#timeline.now + graceSeconds * 1000);
    metadata.deletionGracePeriodSeconds = graceSeconds;
    this.changed(resource, object, 'metadata');
  }

  /** Takes a finalizer off; the last one of a deleting object takes the object with it. */
  removeFinalizer<R extends Resource>(resource: R, object: Kinds[R], finalizer: string): void {
    const { metadata } = object;
    const left = (metadata.finalizers ?? []).filter((name) => name !== finalizer);
    if (left.length > 0) metadata.finalizers = left;
    else delete metadata.finalizers;
    if (left.length === 0 && metadata.deletionTimestamp !== undefined) {
      this.remove(resource, object);
    } else {
      this.changed(resource, object, 'metadata');
    }
  }

  /** Removes the object now, whatever holds it back. */
  remove<R extends Resource>(resource: R, object: Kinds[R]): void {
    if (!this.has(resource, object)) return;
    this.#nextVersion();
    this.#map(resource).delete(keyOf(object));
    this.#notify({ type: 'removed', resource, object } as StoreChange);
  }

  #map<R extends Resource>(resource: R): Map<string, Kinds[R]> {
    return this.#objects.get(resource) as unknown as Map<string, Kinds[R]>;
  }

  #nextVersion(): string {
    return String(++this.#resourceVersion);
  }

  #notify(change: StoreChange): void {
    const idle = change.type === 'changed' && change.aspect === 'heartbeat';
    if (change.resource !== 'events' && !idle) this.#progress++;
    for (const listener of this.#listeners) listener(change);
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
