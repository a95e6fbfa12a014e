/** Waits out what the API server asks clients to wait out. */

import type { Answer } from './errors.ts';
import { errorFromAnswer } from './errors.ts';
import { withJsonStatus } from './protobuf/status.ts';
import type { Transport, TransportRequest } from './transport.ts';

export interface Patience {
  /** Waits that many milliseconds. Injected, so that tests do not wait. */
  sleep: (ms: number) => Promise<void>;
  /** How often one read may wait because the server asked it to. */
  maxWaits?: number;
  signal?: AbortSignal;
}

/** The waits that one read has left; shared by the pages of a list. */
export interface WaitsLeft {
  left: number;
}

const defaultMaxWaits = 5;
/** A longer wait does not fit into one invocation: the next scan comes within a minute. */
const maxWaitSeconds = 30;

export function waitsLeft(patience: Patience): WaitsLeft {
  return { left: patience.maxWaits ?? defaultMaxWaits };
}

/**
 * GETs `path`, honouring Retry-After of throttling (429) and of an overloaded server (5xx) as long
 * as `waits` last. Returns whatever answer then stands.
 */
export async function getPatiently(
  transport: Transport,
  request: Pick<TransportRequest, 'path' | 'query' | 'accept' | 'encoded'>,
  patience: Patience,
  waits: WaitsLeft,
): Promise<Answer> {
  for (;;) {
    const received = await transport.request({
      method: 'GET',
      ...request,
      ...(patience.signal === undefined ? {} : { signal: patience.signal }),
    });
    if (received.status < 400) return received;
    const answer = withJsonStatus(received);
    const seconds = secondsToWait(request.path, answer);
    if (seconds === undefined || waits.left === 0) return answer;
    waits.left -= 1;
    await patience.sleep(seconds * 1000);
  }
}

function secondsToWait(path: string, answer: Answer): number | undefined {
  const { kind, retryAfterSeconds } = errorFromAnswer({ method: 'GET', path }, answer);
  if (kind !== 'throttled' && kind !== 'server') return undefined;
  if (retryAfterSeconds === undefined) return kind === 'throttled' ? 1 : undefined;
  return retryAfterSeconds > maxWaitSeconds ? undefined : Math.max(retryAfterSeconds, 1);
}
