/**
 * Follows one resource live: a complete list, then a watch from its resourceVersion on.
 *
 * How it works: every event, and the bookmarks that the server sends about every minute, move the
 * version from which a closed stream goes on. A version that the server no longer keeps (410, as an
 * answer or as an ERROR event) means that changes were missed, so the resource is listed again. Any
 * other ERROR event, or one that cannot be read, is treated alike after a wait: what it would have
 * said is not known.
 *
 * What a server says does not count as success, only that its stream lasts: a server that says one
 * thing and closes, or that expires what it has just listed, would be asked without a pause.
 *
 * Gotcha: right after its start an API server may answer 401 and 403 because it has not read its
 * own RBAC objects yet. Only a refusal before the first success is final.
 */
import { isKubernetesError, KubernetesError, messageOf } from '../errors.ts';
import { shorten } from '../gap/words.ts';
import { backoffMs, type Pacing } from '../pacing.ts';
import { errorFromAnswer, parseStatus, UnreachableError } from './errors.ts';
import { type ListSelectors, listWithVersion } from './list.ts';
import type { ListFormat } from './list-formats.ts';
import type { StreamingTransport } from './transport.ts';
import { readWatchEvents, type WatchEvent } from './watch-events.ts';

/** What to follow. */
export interface FollowedResource<T> {
  path: string;
  selectors: ListSelectors;
  project(raw: unknown): T;
  /** Of lists; JSON when absent. Watches are JSON always. */
  format?: ListFormat;
}

/** Hears of everything that happens, in order. Must not throw. */
export interface WatchObserver<T> {
  /** All objects there are. `expired`: the server had forgotten the changes in between. */
  listed(items: T[], why: 'first' | 'expired'): void;
  changed(object: T): void;
  removed(object: T): void;
  /** The watch stands: something usable came, or it lasts. From now on changes are heard of. */
  following(): void;
  /** Nothing is heard of at present, and changes may be missed; the next try is in `retryInMs`. */
  broken(error: KubernetesError, retryInMs: number): void;
}

/** Lets only so many lists run at once. */
export type Gate = <R>(work: () => Promise<R>) => Promise<R>;

/** Calls `run` after `ms`, unless the answer is called before. */
export type Schedule = (ms: number, run: () => void) => () => void;

export interface FollowOptions {
  /** Milliseconds on a clock that nobody sets, for how long a stream lasted. */
  uptime(): number;
  schedule: Schedule;
  pacing: Pacing;
  /** Ends it. */
  signal: AbortSignal;
  gate: Gate;
  /** Milliseconds without a byte, bookmarks included, after which a stream counts as broken. */
  idleMs?: number;
  /** Objects per page of a list. */
  limit?: number;
}

/** The server sends a bookmark about every minute (apiserver storage/cacher bookmarkFrequency). */
const defaultIdleMs = 90_000;
const answerMs = 15_000;
/** As client-go: between five and ten minutes, so that many clients do not return at once. */
const minWatchSeconds = 300;
/** Somebody is looking, so less patience than a controller has. */
const backoff = { baseMs: 500, maxMs: 10_000 };
/** A stream that ended sooner is a failed try, whatever it said; one that lasted ends a series. */
const decentMs = 10_000;
/** A stream on which nothing came stands when it has lasted as long: a refusal comes at once. */
const standsAfterMs = 500;

/**
 * Follows `resource` until the signal aborts; then it returns.
 * @throws KubernetesError when the very first list or watch fails: that is not waited out.
 */
export async function follow<T>(
  transport: StreamingTransport,
  resource: FollowedResource<T>,
  observer: WatchObserver<T>,
  options: FollowOptions,
): Promise<void> {
  const { uptime, pacing, signal } = options;
  let version: string | undefined;
  let listedBefore = false;
  let openedBefore = false;
  let tries = 0;
  let expiries = 0;
  while (!signal.aborted) {
    let openedAt: number | undefined;
    const lastedMs = (): number => (openedAt === undefined ? 0 : uptime() - openedAt);
    try {
      if (version === undefined) {
        const list = await options.gate(() => readAll(transport, resource, options));
        observer.listed(list.items, listedBefore ? 'expired' : 'first');
        listedBefore = true;
        version = list.resourceVersion;
      }
      const chunks = await open(transport, resource, version, options);
      openedAt = uptime();
      openedBefore = true;
      const standing = once(() => observer.following());
      const cancel = options.schedule(standsAfterMs, standing);
      try {
        for await (const event of eventsOf(chunks, resource)) {
          version = event.resourceVersion ?? version;
          standing();
          if (event.type === 'changed') observer.changed(event.object);
          if (event.type === 'removed') observer.removed(event.object);
        }
      } finally {
        cancel();
      }
      if (signal.aborted) return;
      if (lastedMs() < decentMs) {
        const seconds = Math.round(lastedMs() / 1000);
        const message = `the watch of ${resource.path} was closed after ${seconds} s`;
        throw new KubernetesError('server', message);
      }
      tries = 0;
      expiries = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof KubernetesError)) throw error;
      const expired = error.kind === 'gone' && listedBefore;
      if (!openedBefore && !expired) throw error;
      if (expired || error instanceof WatchBrokenError) version = undefined;
      if (lastedMs() >= decentMs) {
        tries = 0;
        expiries = 0;
      }
      const asked = (error.retryAfterSeconds ?? 0) * 1000;
      // To list again at once is right, but not again and again.
      const atOnce = expired && expiries === 0;
      const waitMs = Math.max(asked, atOnce ? 0 : backoffMs(tries, pacing.random, backoff));
      tries += 1;
      if (expired) expiries += 1;
      observer.broken(error, waitMs);
      await pacing.sleep(waitMs);
    }
  }
}

/** Runs `run` when called for the first time. */
function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (!done) {
      done = true;
      run();
    }
  };
}

function readAll<T>(
  transport: StreamingTransport,
  { path, selectors, project, format }: FollowedResource<T>,
  { pacing, signal, limit }: FollowOptions,
): ReturnType<typeof listWithVersion<T>> {
  return listWithVersion(transport, path, selectors, project, {
    sleep: pacing.sleep,
    signal,
    ...(limit === undefined ? {} : { limit }),
    ...(format === undefined ? {} : { format }),
  });
}

/** The stream cannot be gone on with, even though its version may still be known. */
class WatchBrokenError extends KubernetesError {}

/** Opens a watch. @throws KubernetesError when it is refused, or answered with something else. */
async function open<T>(
  transport: StreamingTransport,
  { path, selectors }: FollowedResource<T>,
  version: string,
  { pacing, signal, idleMs = defaultIdleMs }: FollowOptions,
): Promise<AsyncIterable<Buffer>> {
  const outcome = await transport.stream({
    path,
    query: {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(Math.round(minWatchSeconds * (1 + pacing.random()))),
      ...selectors,
    },
    signal,
    answerMs,
    idleMs,
  });
  switch (outcome.kind) {
    case 'open':
      return outcome.chunks;
    case 'refused':
      throw errorFromAnswer({ method: 'WATCH', path }, outcome.answer);
    case 'not-json': {
      const type = shorten(outcome.contentType ?? 'no content type', 80);
      throw new KubernetesError(
        'server',
        `the watch of ${path} was answered with ${type} in place of application/json`,
        {
          status: 200,
          hint: 'most likely something between here and the API server answers in its place, as a proxy or a login page does: look at the server address of the kubeconfig',
        },
      );
    }
  }
}

/** @throws WatchBrokenError for what cannot be used, KubernetesError for what ended the stream. */
async function* eventsOf<T>(
  chunks: AsyncIterable<Buffer>,
  { path, project }: FollowedResource<T>,
): AsyncGenerator<Exclude<WatchEvent<T>, { type: 'error' }>> {
  try {
    for await (const event of readWatchEvents(chunks, project)) {
      if (event.type !== 'error') yield event;
      else throw fromErrorEvent(path, event.status);
    }
  } catch (error) {
    // What ended the stream itself. Everything else was an event that cannot be used.
    if (error instanceof UnreachableError || error instanceof WatchBrokenError) throw error;
    if (isKubernetesError(error, 'gone')) throw error;
    throw new WatchBrokenError('server', `the watch of ${path} broke: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** An ERROR event carries a Status, as a refusal does. */
function fromErrorEvent(path: string, status: unknown): KubernetesError {
  const { message, reason } = parseStatus(Buffer.from(JSON.stringify(status ?? null)));
  const code = (status as { code?: unknown } | null)?.code;
  const said = message === '' ? '' : `: ${message}`;
  if (code === 410 || reason === 'Gone' || reason === 'Expired') {
    return new KubernetesError('gone', `the watch of ${path} is too old${said}`, { status: 410 });
  }
  return new WatchBrokenError('server', `the watch of ${path} ended with an error${said}`, {
    ...(typeof code === 'number' ? { status: code } : {}),
  });
}

/** A gate for `limit` at once; who has to wait is let in by turns. */
export function gateOf(limit: number): Gate {
  let free = limit;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
