/**
 * GET of a collection: selectors, pages of one consistent snapshot, tokens that expire.
 *
 * How it works: the first page freezes the whole matching list; a continue token names the frozen
 * list and the place in it, and lives five minutes, about as long as etcd keeps a revision.
 */
import { apiVersionOf, infoOf, type Kinds, type Resource } from '../resources.ts';
import type { World } from '../world.ts';
import { matcherOf } from './selectors.ts';
import { badRequest, StatusError } from './status.ts';

const tokenLifeMs = 300_000;

interface Snapshot {
  resourceVersion: string;
  /** Selectors and path, which must stay the same from page to page. */
  question: string;
  expiresAt: number;
  items: unknown[];
}

export interface ListRequest<R extends Resource> {
  resource: R;
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  query: URLSearchParams;
}

export class Lists {
  readonly #world: World;
  readonly #snapshots = new Map<string, Snapshot>();
  #nextSnapshot = 1;

  constructor(world: World) {
    this.#world = world;
  }

  /** The body of one page; throws a StatusError. Items carry no kind and apiVersion, as in the API. */
  page<R extends Resource>({ resource, namespace, query }: ListRequest<R>): unknown {
    if (query.get('watch') === 'true' || query.get('watch') === '1') {
      throw new StatusError(
        405,
        'MethodNotAllowed',
        'the simulated cluster does not serve watches',
      );
    }
    const labelSelector = query.get('labelSelector') ?? '';
    const fieldSelector = query.get('fieldSelector') ?? '';
    const limit = readLimit(query);
    const token = query.get('continue') ?? '';
    const question = JSON.stringify([resource, namespace, labelSelector, fieldSelector]);
    const matches = matcherOf(resource, labelSelector, fieldSelector);
    const selected = labelSelector !== '' || fieldSelector !== '';
    const revision = query.get('resourceVersion') ?? '';
    this.#forgetExpired();
    if (token !== '') {
      if (revision !== '') {
        throw badRequest('specifying resource version is not allowed when using continue');
      }
      const { snapshot, from, name } = this.#open(token, question);
      return this.#cut(resource, snapshot, name, from, limit, selected);
    }
    const items = this.#world.store
      .list(resource)
      .filter(
        (object) =>
          (namespace === undefined || object.metadata.namespace === namespace) && matches(object),
      );
    const snapshot: Snapshot = {
      resourceVersion: this.#world.store.resourceVersion,
      question,
      expiresAt: this.#world.timeline.now + tokenLifeMs,
      items,
    };
    // A read at resourceVersion 0 comes from the watch cache, which knows no limit.
    const pageSize = revision === '0' ? undefined : limit;
    if (pageSize === undefined || items.length <= pageSize) {
      return this.#cut(resource, snapshot, '', 0, undefined, selected);
    }
    const name = String(this.#nextSnapshot++);
    snapshot.items = structuredClone<Kinds[R][]>(items);
    this.#snapshots.set(name, snapshot);
    return this.#cut(resource, snapshot, name, 0, pageSize, selected);
  }

  #open(token: string, question: string): { snapshot: Snapshot; name: string; from: number } {
    const text = Buffer.from(token, 'base64url').toString();
    const match = /^page (\d+) (\d+)$/.exec(text);
    if (match === null) throw badRequest('continue key is not valid: it is malformed');
    const [, name = '', from] = match;
    const snapshot = this.#snapshots.get(name);
    if (snapshot === undefined) {
      throw new StatusError(
        410,
        'Expired',
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.',
      );
    }
    if (snapshot.question !== question) {
      throw badRequest('continue key is not valid: the list parameters have changed');
    }
    return { snapshot, name, from: Number(from) };
  }

  #cut(
    resource: Resource,
    snapshot: Snapshot,
    name: string,
    from: number,
    limit: number | undefined,
    selected: boolean,
  ): unknown {
    const entry = infoOf(resource);
    const end = limit === undefined ? snapshot.items.length : from + limit;
    const left = Math.max(0, snapshot.items.length - end);
    return {
      kind: `${entry.kind}List`,
      apiVersion: apiVersionOf(entry),
      metadata: {
        resourceVersion: snapshot.resourceVersion,
        ...(left > 0 ? { continue: Buffer.from(`page ${name} ${end}`).toString('base64url') } : {}),
        ...(left > 0 && !selected ? { remainingItemCount: left } : {}),
      },
      items: snapshot.items.slice(from, end),
    };
  }

  #forgetExpired(): void {
    for (const [name, { expiresAt }] of this.#snapshots) {
      if (expiresAt <= this.#world.timeline.now) this.#snapshots.delete(name);
    }
  }
}

/** Undefined for no limit. */
function readLimit(query: URLSearchParams): number | undefined {
  const text = query.get('limit');
  if (text === null || text === '0' || text === '') return undefined;
  if (!/^\d+$/.test(text)) throw badRequest(`invalid limit: ${text}`);
  return Number(text);
}
