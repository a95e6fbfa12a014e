/**
 * The body of a watch → its events. One event is one line of JSON; a newline byte stands nowhere
 * else, so lines are cut from bytes and decoded whole: a chunk may end inside a character.
 */
import { shorten } from '../gap/words.ts';

export type WatchEvent<T> =
  | { type: 'changed' | 'removed'; object: T; resourceVersion: string | undefined }
  /** Nothing happened up to that version. */
  | { type: 'bookmark'; resourceVersion: string }
  /** A meta/v1 Status. The server ends the stream after it. */
  | { type: 'error'; status: unknown };

const newline = 0x0a;
/** etcd refuses objects above 1.5 MiB; JSON may make a few times that of one. */
const longestLine = 16 * 1024 * 1024;

/**
 * Reads events from `chunks`. A last line without its newline is what a cut connection left.
 * @throws SyntaxError for what is no JSON, TypeError for what is no event, RangeError for a line
 * without end, and what `project` throws.
 */
export async function* readWatchEvents<T>(
  chunks: AsyncIterable<Buffer>,
  project: (raw: unknown) => T,
): AsyncGenerator<WatchEvent<T>> {
  for await (const line of linesOf(chunks)) {
    if (line.length > 0) yield parseEvent(line, project);
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const rest = chunk.subarray(from, end);
      yield (begun.length === 0 ? rest : Buffer.concat([...begun, rest])).toString('utf8').trim();
      begun = [];
      length = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    begun.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longestLine) throw new RangeError(`an event is longer than ${longestLine} bytes`);
  }
}

interface RawEvent {
  type?: unknown;
  object?: unknown;
}

function parseEvent<T>(line: string, project: (raw: unknown) => T): WatchEvent<T> {
  const event = JSON.parse(line) as RawEvent | null;
  const object = event?.object;
  switch (event?.type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'changed', ...versionedOf(line, object), object: project(object) };
    case 'DELETED':
      return { type: 'removed', ...versionedOf(line, object), object: project(object) };
    case 'BOOKMARK': {
      const { resourceVersion } = versionedOf(line, object);
      // It is there for nothing else.
      if (resourceVersion === undefined) throw broken('a bookmark has no version', line);
      return { type: 'bookmark', resourceVersion };
    }
    case 'ERROR':
      return { type: 'error', status: object };
    default:
      throw broken('it is no watch event', line);
  }
}

function versionedOf(line: string, object: unknown): { resourceVersion: string | undefined } {
  if (typeof object !== 'object' || object === null) {
    throw broken('an event has no object', line);
  }
  const { metadata } = object as { metadata?: { resourceVersion?: unknown } | null };
  const version = metadata?.resourceVersion;
  return { resourceVersion: typeof version === 'string' && version !== '' ? version : undefined };
}

function broken(what: string, line: string): TypeError {
  return new TypeError(`${what}: ${shorten(line, 80)}`);
}
