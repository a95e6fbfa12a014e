/**
 * Watches over the simulated cluster: what changed since a version, then every change as it is made.
 *
 * As in etcd only so much of the past is kept; a watch from before it is refused with 410. That the
 * labels of an object may change so that a selector no longer chooses it is not played.
 */
import { apiVersionOf, infoOf, type Resource } from '../resources.ts';
import type { Store, StoreChange } from '../store.ts';
import type { ListRequest } from './lists.ts';
import { matcherOf } from './selectors.ts';
import { StatusError } from './status.ts';

interface Happened {
  version: number;
  resource: Resource;
  namespace: string | undefined;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: StoreChange['object'];
}

/** Where the lines of a watch go. */
export interface WatchSink {
  write(line: string): void;
  /** Ends the answer in order. */
  end(): void;
  /** Breaks the connection. */
  cut(): void;
}

interface OpenWatch {
  sink: WatchSink;
  resource: Resource;
  offer(happened: Happened): void;
}

const kept = 5_000;
const types = { added: 'ADDED', changed: 'MODIFIED', removed: 'DELETED' } as const;

export class Watches {
  readonly #store: Store;
  readonly #open = new Set<OpenWatch>();
  #past: Happened[] = [];
  /** The newest version of which the past is no longer known. */
  #forgotten: number;

  constructor(store: Store) {
    this.#store = store;
    this.#forgotten = Number(store.resourceVersion);
    store.subscribe((change) => this.#happen(change));
  }

  /** Starts one; the answer takes it back. Throws a StatusError of 410 from too far back. */
  open<R extends Resource>(request: ListRequest<R>, sink: WatchSink): () => void {
    const { resource, namespace, query } = request;
    const from = Number(query.get('resourceVersion') ?? this.#store.resourceVersion);
    if (from < this.#forgotten) {
      throw new StatusError(410, 'Expired', `too old resource version: ${from}`);
    }
    const matches = matcherOf<Resource>(
      resource,
      query.get('labelSelector') ?? '',
      query.get('fieldSelector') ?? '',
    );
    const watch: OpenWatch = {
      sink,
      resource,
      offer(happened) {
        if (happened.resource !== resource || !matches(happened.object)) return;
        if (namespace !== undefined && happened.namespace !== namespace) return;
        sink.write(line(happened.type, resource, happened.object));
      },
    };
    for (const happened of this.#past) if (happened.version > from) watch.offer(happened);
    this.#open.add(watch);
    return () => this.#open.delete(watch);
  }

  /** Tells every watch how far it has come. */
  bookmark(): void {
    const metadata = { resourceVersion: this.#store.resourceVersion };
    for (const { sink, resource } of this.#open) {
      sink.write(line('BOOKMARK', resource, { metadata }));
    }
  }

  /** Forgets the past, as a compaction does. */
  compact(): void {
    this.#past = [];
    this.#forgotten = Number(this.#store.resourceVersion);
  }

  /** Ends all watches. */
  drop(how: 'end' | 'cut'): void {
    for (const watch of [...this.#open]) {
      this.#open.delete(watch);
      watch.sink[how]();
    }
  }

  #happen({ type, resource, object }: StoreChange): void {
    if (resource === 'events') return;
    const version = Number(this.#store.resourceVersion);
    const copy = structuredClone(object);
    copy.metadata.resourceVersion = String(version);
    const { namespace } = copy.metadata;
    const happened: Happened = { version, resource, namespace, type: types[type], object: copy };
    this.#past.push(happened);
    if (this.#past.length > kept) {
      for (const { version: gone } of this.#past.splice(0, kept / 2)) this.#forgotten = gone;
    }
    for (const watch of this.#open) watch.offer(happened);
  }
}

function line(type: string, resource: Resource, object: object): string {
  const entry = infoOf(resource);
  const whole = { kind: entry.kind, apiVersion: apiVersionOf(entry), ...object };
  return `${JSON.stringify({ type, object: whole })}\n`;
}
