/**
 * An answer that goes on for minutes, as of a watch: its body is handed out as it comes.
 *
 * A dead peer shows by silence alone. The kernel probes the connection, and no byte for `idleMs`
 * counts as broken, since a proxy in between may keep its side open for ever.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { constants, createGunzip } from 'node:zlib';
import type { Answer, UnreachableError } from './errors.ts';
import { flatHeaders } from './http-values.ts';
import type { TransportStats } from './transport.ts';
import { unreachable, unreachableBecause } from './unreachable.ts';

export interface StreamRequest {
  path: string;
  query?: Record<string, string>;
  signal?: AbortSignal;
  /** Milliseconds until the answer has to begin. */
  answerMs: number;
  /** Milliseconds without a byte after which the stream counts as broken. */
  idleMs: number;
}

export type StreamOutcome =
  /** Any status but 200, with its whole body. */
  | { kind: 'refused'; answer: Answer }
  /** 200, but no JSON, as of a proxy or a login page. Its body was not read. */
  | { kind: 'not-json'; contentType: string | undefined }
  /** Decompressed pieces of the body. Throws an UnreachableError when the stream breaks. */
  | { kind: 'open'; chunks: AsyncIterable<Buffer> };

export interface StreamContext {
  /** Scheme, host and port, for messages. */
  where: string;
  secure: boolean;
  connectMs: number;
  stats: TransportStats;
}

const probeAfterMs = 15_000;

/** Sends `outgoing` and waits for the beginning of its answer. @throws UnreachableError. */
export async function openStream(
  outgoing: ClientRequest,
  request: Pick<StreamRequest, 'answerMs' | 'idleMs'>,
  context: StreamContext,
): Promise<StreamOutcome> {
  const { where, stats } = context;
  // Destroying a request whose answer has begun shows only as a cut connection.
  let givenUp: UnreachableError | undefined;
  const failure = (error: unknown): UnreachableError => givenUp ?? unreachable(where, error);
  const giveUp = (reason: 'timeout' | 'connect-timeout', detail: string): void => {
    givenUp = unreachableBecause(reason, where, detail);
    outgoing.destroy(givenUp);
  };
  stats.requests += 1;
  const incoming = await begin(outgoing, request.answerMs, context, giveUp).catch(
    (error: unknown) => {
      throw failure(error);
    },
  );
  if (incoming.statusCode === 429) stats.throttled += 1;
  const contentType = incoming.headers['content-type'];
  if (incoming.statusCode === 200 && !isJson(contentType)) {
    // It may go on for ever.
    incoming.destroy();
    return { kind: 'not-json', contentType };
  }
  const seconds = request.idleMs / 1000;
  const pieces = counted(incoming, stats, request.idleMs, () =>
    giveUp('timeout', `nothing came for ${seconds} s`),
  );
  const decoded = decode(pieces, incoming.headers['content-encoding'], where);
  if (incoming.statusCode === 200) {
    return { kind: 'open', chunks: decodedBytes(decoded, stats, failure) };
  }
  const body = await buffer(decodedBytes(decoded, stats, failure));
  const status = incoming.statusCode ?? 0;
  return { kind: 'refused', answer: { status, headers: flatHeaders(incoming.headers), body } };
}

/** Parameters are let pass, as in `application/json; charset=utf-8`. */
function isJson(contentType: string | undefined): boolean {
  return contentType?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

function begin(
  outgoing: ClientRequest,
  answerMs: number,
  { connectMs, secure, stats }: StreamContext,
  giveUp: (reason: 'timeout' | 'connect-timeout', detail: string) => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const answerTimer = setTimeout(
      () => giveUp('timeout', `no answer within ${answerMs / 1000} s`),
      answerMs,
    );
    let connectTimer: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(answerTimer);
      clearTimeout(connectTimer);
    };
    outgoing.on('socket', (socket: Socket) => {
      socket.setKeepAlive(true, probeAfterMs);
      if (!socket.connecting) return;
      stats.connections += 1;
      connectTimer = setTimeout(
        () => giveUp('connect-timeout', `no connection within ${connectMs / 1000} s`),
        connectMs,
      );
      socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connectTimer));
    });
    // Stays on: what breaks later is told by the body, and must not be an unhandled error here.
    outgoing.on('error', (error) => {
      settle();
      reject(error);
    });
    outgoing.once('response', (incoming: IncomingMessage) => {
      settle();
      resolve(incoming);
    });
    outgoing.end();
  });
}

async function* counted(
  incoming: IncomingMessage,
  stats: TransportStats,
  idleMs: number,
  onIdle: () => void,
): AsyncGenerator<Buffer> {
  const timer = setTimeout(onIdle, idleMs);
  try {
    for await (const chunk of incoming) {
      timer.refresh();
      stats.bytesReceived += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  } finally {
    clearTimeout(timer);
  }
}

function decode(
  pieces: AsyncIterable<Buffer>,
  encoding: string | undefined,
  where: string,
): AsyncIterable<Buffer> {
  if (encoding === undefined || encoding === 'identity') return pieces;
  if (encoding !== 'gzip') {
    throw unreachableBecause('reset', where, `a broken answer: content-encoding ${encoding}`);
  }
  // Each event is to come out as soon as its last byte is in.
  const gunzip = createGunzip({ flush: constants.Z_SYNC_FLUSH });
  // A failure reaches the reader through the stream itself.
  pipeline(pieces, gunzip, () => undefined);
  return gunzip;
}

async function* decodedBytes(
  chunks: AsyncIterable<Buffer>,
  stats: TransportStats,
  failure: (error: unknown) => UnreachableError,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of chunks) {
      stats.bytesDecoded += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw failure(error);
  }
}
