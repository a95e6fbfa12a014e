/**
 * Complete, paged reads of one resource. A list either holds everything or throws.
 *
 * How it works: pages (of 500 unless told) with only `limit`, `continue` and the unchanged selectors. A
 * resourceVersion is never sent: with 0 the server ignores the limit and may answer from the past,
 * and with a continue token it refuses. The token alone says whether more follows; a page may be
 * short, or empty, before the end. Each page is decompressed and projected piece by piece, while the
 * server makes the next one, so that at most two compressed pages and a piece are held. A token
 * outlives about five minutes of compaction; then the server answers 410, and the whole list starts
 * again, because going on would mix two states of the cluster.
 */
import { KubernetesError } from '../errors.ts';
import { encodedBody, giveBack } from './content-encoding.ts';
import { errorFromAnswer } from './errors.ts';
import { jsonFormat, type ListFormat, type Page } from './list-formats.ts';
import { getPatiently, type Patience, type WaitsLeft, waitsLeft } from './patience.ts';
import type { Transport } from './transport.ts';

export interface ListSelectors {
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends Patience {
  /** Objects per page. */
  limit?: number;
  /** How often a list may start again after 410. */
  maxRestarts?: number;
  /** JSON unless set. */
  format?: ListFormat;
}

const defaultLimit = 500;
const defaultMaxRestarts = 3;

/** A complete list and the state of the cluster that it shows. */
export interface VersionedList<T> {
  items: T[];
  /** `metadata.resourceVersion` of the list: a watch from here misses nothing. Empty when not said. */
  resourceVersion: string;
}

/**
 * Reads all objects of `path`, each passed through `project`.
 * @throws KubernetesError when the list could not be completed: never a short result.
 */
export async function listAll<T>(
  transport: Transport,
  path: string,
  selectors: ListSelectors,
  project: (raw: unknown) => T,
  options: ListOptions,
): Promise<T[]> {
  return (await listWithVersion(transport, path, selectors, project, options)).items;
}

/** Like `listAll`, with the resourceVersion from which a watch can go on. */
export async function listWithVersion<T>(
  transport: Transport,
  path: string,
  selectors: ListSelectors,
  project: (raw: unknown) => T,
  options: ListOptions,
): Promise<VersionedList<T>> {
  const maxRestarts = options.maxRestarts ?? defaultMaxRestarts;
  const waits = waitsLeft(options);
  for (let restarts = 0; ; restarts += 1) {
    const list = await listOnce(transport, path, selectors, project, options, waits);
    if (list !== 'expired') return list;
    if (restarts >= maxRestarts) {
      throw new KubernetesError(
        'gone',
        `the list of ${path} expired ${restarts + 1} times before it was complete`,
        {
          status: 410,
          hint: 'reading took longer than the server keeps a list; look at the latency to the API server',
        },
      );
    }
  }
}

async function listOnce<T>(
  transport: Transport,
  path: string,
  selectors: ListSelectors,
  project: (raw: unknown) => T,
  options: ListOptions,
  waits: WaitsLeft,
): Promise<VersionedList<T> | 'expired'> {
  const items: T[] = [];
  const getNext = (token: string | undefined): Promise<HeldPage | 'expired'> => {
    const page = getPage(transport, path, selectors, token, options, waits);
    // Its failure is met when the page is awaited; until then nobody else is to stumble over it.
    page.catch(() => undefined);
    return page;
  };
  let page = await getNext(undefined);
  let resourceVersion: string | undefined;
  for (;;) {
    if (page === 'expired') return page;
    // Later pages show the state of the first one.
    resourceVersion ??= page.resourceVersion;
    const { token } = page;
    // The server makes the next page while the items of this one are read.
    const next = token === undefined ? undefined : getNext(token);
    for await (const some of page.items()) {
      for (const raw of some) items.push(projectAt(path, items.length, raw, project));
    }
    page.release();
    if (next === undefined) return { items, resourceVersion };
    page = await next;
    if (page !== 'expired' && page.token === token) {
      throw new KubernetesError('server', `the list of ${path} repeats a page without end`);
    }
  }
}

/** @throws KubernetesError that names the list and the index, when the item cannot be used. */
function projectAt<T>(path: string, index: number, raw: unknown, project: (raw: unknown) => T): T {
  try {
    return project(raw);
  } catch (cause) {
    if (!(cause instanceof KubernetesError)) throw cause;
    throw new KubernetesError(
      cause.kind,
      `item ${index} of the list of ${path} cannot be used: ${cause.message}`,
      { status: 200, cause, hint: 'something between here and the API server changes its answers' },
    );
  }
}

/** A page with the bytes that it is read from. */
interface HeldPage extends Page {
  /** Gives the bytes back. No item is read after that. */
  release(): void;
}

async function getPage(
  transport: Transport,
  path: string,
  selectors: ListSelectors,
  token: string | undefined,
  options: ListOptions,
  waits: WaitsLeft,
): Promise<HeldPage | 'expired'> {
  const format = options.format ?? jsonFormat;
  const query = {
    limit: String(options.limit ?? defaultLimit),
    ...selectors,
    ...format.query,
    ...(token === undefined ? {} : { continue: token }),
  };
  const answer = await getPatiently(
    transport,
    { path, query, accept: format.accept, encoded: true },
    options,
    waits,
  );
  if (answer.status === 200) {
    const { headers } = answer;
    const body = encodedBody(answer, (bytes) => {
      transport.stats.bytesDecoded += bytes;
    });
    return {
      ...(await format.open(path, { headers, body })),
      release: () => giveBack(answer.body),
    };
  }
  if (answer.status === 410) return 'expired';
  throw errorFromAnswer({ method: 'GET', path }, answer);
}

/**
 * Whether there is any object that `selectors` select. One small read, nothing is projected.
 * @throws KubernetesError when the server does not say.
 */
export async function hasAny(
  transport: Transport,
  path: string,
  selectors: ListSelectors,
  options: ListOptions,
): Promise<boolean> {
  const oneOnly = { ...options, limit: 1 };
  const page = await getPage(transport, path, selectors, undefined, oneOnly, waitsLeft(options));
  if (page === 'expired') throw new KubernetesError('gone', `the list of ${path} expired at once`);
  // A page may be empty before the end: where it goes on, there may be one.
  if (page.token !== undefined) return true;
  for await (const some of page.items()) if (some.length > 0) return true;
  return false;
}
