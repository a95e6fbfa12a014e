/**
 * The formats in which the API server writes a list, and how a page of each is opened. Opening tells
 * at once where the list goes on, so that the next page can be asked for while the items of this
 * one are read.
 */
import { PbfReader } from 'pbf';
import { KubernetesError } from '../errors.ts';
import type { Answer } from './errors.ts';
import { contentOf, isProtobuf, protobufType } from './protobuf/envelope.ts';
import { embedded, keptText, message } from './protobuf/fields.ts';

/** One page of a list. */
export interface Page {
  /** Reads the objects, in the shape of the server's JSON. */
  items(): unknown[];
  /** Where the list goes on, if it does. */
  token: string | undefined;
  /** Empty when the server does not say. */
  resourceVersion: string;
}

export interface ListFormat {
  /** What to ask for. The server may answer in JSON all the same. */
  accept: string;
  /** Further parameters of the request. */
  query?: Readonly<Record<string, string>>;
  /** @throws KubernetesError when the answer to the list of `path` is no list. */
  open(path: string, answer: Answer): Page;
}

export const jsonFormat: ListFormat = {
  accept: 'application/json',
  open(path, { body }) {
    const list = parseJson(path, body) as {
      items?: unknown;
      metadata?: ListHead;
    } | null;
    // Go writes an empty list as [] or null; a body without the key is no list at all.
    const items = list?.items === null ? [] : list?.items;
    if (!Array.isArray(items)) throw noList(path);
    return { items: () => items, ...headOf(list?.metadata) };
  },
};

/**
 * Protobuf, about half the work of JSON for server and client. Only for the types of Kubernetes
 * itself: custom resources have none.
 */
export function protobufFormat(readItem: (reader: PbfReader, end: number) => unknown): ListFormat {
  return {
    accept: `${protobufType}, application/json`,
    open(path, answer) {
      return isProtobuf(answer)
        ? openProtobuf(path, answer.body, readItem)
        : jsonFormat.open(path, answer);
    },
  };
}

/** `metadata` of a list. */
export interface ListHead {
  continue?: unknown;
  resourceVersion?: unknown;
}

/** Where a list goes on and which state of the cluster it shows. */
export function headOf(metadata: ListHead | undefined): Omit<Page, 'items'> {
  const { continue: token, resourceVersion } = metadata ?? {};
  return {
    token: typeof token === 'string' && token !== '' ? token : undefined,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
  };
}

const listMeta = message({ 2: keptText('resourceVersion'), 3: keptText('continue') });

/**
 * The list in its envelope (ListMeta = 1, items = 2). The list's own metadata is written first, so
 * opening reads no further than that.
 */
function openProtobuf(
  path: string,
  body: Buffer,
  readItem: (reader: PbfReader, end: number) => unknown,
): Page {
  return orCutShort(path, () => openList(path, body, readItem));
}

function openList(
  path: string,
  body: Buffer,
  readItem: (reader: PbfReader, end: number) => unknown,
): Page {
  const raw = contentOf(body);
  if (raw === 'cut short') throw cutShort(path);
  if (raw === 'something else') throw noList(path);
  const reader = new PbfReader(raw);
  // Also a list of nothing has it; without it nobody knows whether the list goes on.
  if (reader.nextField() !== 1) throw noList(path);
  return {
    ...headOf(embedded(reader, listMeta)),
    items: () => orCutShort(path, () => readItems(path, reader, readItem)),
  };
}

function readItems(
  path: string,
  reader: PbfReader,
  readItem: (reader: PbfReader, end: number) => unknown,
): unknown[] {
  const items: unknown[] = [];
  reader.pos = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field !== 2) continue;
    const length = reader.readVarint();
    const end = reader.pos + length;
    if (end > reader.length) throw cutShort(path);
    items.push(readItem(reader, end));
  }
  return items;
}

/** pbf throws plain errors where bytes are missing. */
function orCutShort<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof KubernetesError ? error : cutShort(path, error);
  }
}

/** @throws KubernetesError when the body is not JSON. */
export function parseJson(path: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new KubernetesError('server', `the list of ${path} is not valid JSON`, {
      status: 200,
      cause,
    });
  }
}

function noList(path: string): KubernetesError {
  return new KubernetesError('server', `the answer to a list of ${path} is not a list`, {
    status: 200,
    hint: 'something between here and the API server answers in its place',
  });
}

function cutShort(path: string, cause?: unknown): KubernetesError {
  return new KubernetesError('server', `the list of ${path} ends in the middle of an object`, {
    status: 200,
    cause,
  });
}
