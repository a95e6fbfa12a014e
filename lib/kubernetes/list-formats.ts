/**
 * The formats in which the API server writes a list, and how a page of each is opened. Opening tells
 * at once where the list goes on, so that the next page can be asked for while the items of this
 * one are read.
 */
import type { PbfReader } from 'pbf';
import { KubernetesError } from '../errors.ts';
import type { EncodedBody } from './content-encoding.ts';
import { isProtobuf, protobufType } from './protobuf/envelope.ts';
import { keptText, message } from './protobuf/fields.ts';
import { NotAListError, openList } from './protobuf/pieces.ts';

/** One page of a list. */
export interface Page {
  /**
   * Reads the objects, some at a time, in the shape of the server's JSON. Called once.
   * @throws KubernetesError when the body is not whole.
   */
  items(): AsyncIterable<unknown[]>;
  /** Where the list goes on, if it does. */
  token: string | undefined;
  /** Empty when the server does not say. */
  resourceVersion: string;
}

/** The answer to a list. */
export interface ListAnswer {
  headers: Record<string, string>;
  body: EncodedBody;
}

export interface ListFormat {
  /** What to ask for. The server may answer in JSON all the same. */
  accept: string;
  /** Further parameters of the request. */
  query?: Readonly<Record<string, string>>;
  /** @throws KubernetesError when the answer to the list of `path` is no list. */
  open(path: string, answer: ListAnswer): Promise<Page>;
}

export const jsonFormat: ListFormat = {
  accept: 'application/json',
  async open(path, { body }) {
    const list = (await readJson(path, body)) as {
      items?: unknown;
      metadata?: ListHead;
    } | null;
    // Go writes an empty list as [] or null; a body without the key is no list at all.
    const items = list?.items === null ? [] : list?.items;
    if (!Array.isArray(items)) throw noList(path);
    return { items: () => allAtOnce(() => items), ...headOf(list?.metadata) };
  },
};

/**
 * Protobuf, about half the work of JSON for server and client. Only for the types of Kubernetes
 * itself: custom resources have none.
 */
export function protobufFormat(readItem: (reader: PbfReader, end: number) => unknown): ListFormat {
  return {
    accept: `${protobufType}, application/json`,
    async open(path, answer) {
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

/** Opening reads no further than the list's own metadata. */
async function openProtobuf(
  path: string,
  body: EncodedBody,
  readItem: (reader: PbfReader, end: number) => unknown,
): Promise<Page> {
  try {
    const list = await openList(body.pieces());
    const head = headOf(list.readMetadata(listMeta));
    return { ...head, items: () => wholeItems(path, list.items(readItem)) };
  } catch (error) {
    throw refusal(path, error);
  }
}

async function* wholeItems<T>(path: string, items: AsyncIterable<T[]>): AsyncGenerator<T[]> {
  try {
    yield* items;
  } catch (error) {
    throw refusal(path, error);
  }
}

/** pbf throws plain errors where bytes are missing, and zlib where a body is broken. */
function refusal(path: string, error: unknown): KubernetesError {
  if (error instanceof KubernetesError) return error;
  return error instanceof NotAListError ? noList(path) : cutShort(path, error);
}

/** Items that need not come in parts. */
export async function* allAtOnce(items: () => unknown[]): AsyncGenerator<unknown[]> {
  yield items();
}

/** @throws KubernetesError when the body is not JSON. */
export async function readJson(path: string, body: EncodedBody): Promise<unknown> {
  try {
    return JSON.parse((await body.whole()).toString('utf8'));
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

function cutShort(path: string, cause: unknown): KubernetesError {
  return new KubernetesError('server', `the list of ${path} ends in the middle of an object`, {
    status: 200,
    cause,
  });
}
