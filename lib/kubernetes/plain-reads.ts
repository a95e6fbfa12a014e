/** Reads of objects as the server has them. */
import { setTimeout as sleepFor } from 'node:timers/promises';
import { KubernetesError } from '../errors.ts';
import { errorFromAnswer } from './errors.ts';
import { type ListOptions, type ListSelectors, listAll } from './list.ts';
import { getPatiently, waitsLeft } from './patience.ts';
import type { Transport } from './transport.ts';

/** How a cluster is read; each takes what the server says as it is. */
export interface PlainReads {
  list(path: string, selectors: ListSelectors): Promise<unknown[]>;
  /** Undefined when it is not there. */
  get(path: string): Promise<unknown>;
}

/** Every read is complete or throws a KubernetesError. */
export function createPlainReads(
  transport: Transport,
  options: Partial<ListOptions> = {},
): PlainReads {
  const listOptions: ListOptions = { sleep: (ms) => sleepFor(ms), ...options };
  return {
    list: (path, selectors) => listAll(transport, path, selectors, (raw) => raw, listOptions),
    get: (path) => getObject(transport, path, listOptions),
  };
}

/** One object, or undefined when the API server itself says that there is none. */
export async function getObject(
  transport: Transport,
  path: string,
  options: ListOptions,
): Promise<unknown> {
  const answer = await getPatiently(transport, { path }, options, waitsLeft(options));
  if (answer.status === 200) return parseObject(path, answer.body);
  const error = errorFromAnswer({ method: 'GET', path }, answer);
  // Only the API server's own "not found" means gone: a proxy in between answers 404 as well.
  if (answer.status === 404 && error.answer.reason === 'NotFound') return undefined;
  throw error;
}

function parseObject(path: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new KubernetesError('server', `the answer for ${path} is not valid JSON`, {
      status: 200,
      cause,
    });
  }
}
