/**
 * The project's one way to an API server: node:https (node:http for loopback simulators) with one
 * keep-alive agent per cluster. client-node gets it as its `httpApi`, bulk lists use it directly.
 *
 * Gotchas
 * - An idle connection may have been closed by the other side without our knowing: a frozen Lambda
 *   does not see the FIN. A GET that fails so on a reused connection is sent once more on a new
 *   one. Nothing else is ever sent twice here, since it may have been carried out.
 * - The server compresses answers above 128 KiB when asked to.
 */
import http from 'node:http';
import https from 'node:https';
import { messageOf } from '../errors.ts';
import type { ApiLoad } from '../ports.ts';
import { decode } from './content-encoding.ts';
import type { Answer, UnreachableError } from './errors.ts';
import { flatHeaders, queryString, serverUrl } from './http-values.ts';
import { openStream, type StreamOutcome, type StreamRequest } from './stream.ts';
import { unreachable, unreachableBecause } from './unreachable.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface TransportRequest {
  method: Method;
  /** Without query; appended to the path of the server URL, if that has one. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  /** `application/json` unless set. */
  accept?: string;
  /** The body of a 200 is wanted as it came, to be decoded while it is read. */
  encoded?: boolean;
  signal?: AbortSignal;
  /** Time for the whole request including the answer's body. */
  timeoutMs?: number;
}

/** Counts since the transport was made. */
export interface TransportStats extends ApiLoad {
  /** Connections opened. */
  connections: number;
}

export interface TlsOptions {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  pfx?: string | Buffer;
  passphrase?: string;
  rejectUnauthorized?: boolean;
  servername?: string;
}

export interface TransportOptions {
  /** URL of the API server, `https://…` (or `http://…`). May have a path. */
  server: string;
  tls?: TlsOptions;
  /** Sets the headers that prove who is asking. Called for every request: cache inside. */
  authorize?: (headers: Record<string, string>) => Promise<void>;
  /** Forgets cached credentials. When given, a 401 leads to one fresh `authorize` and one repeat. */
  invalidate?: () => void;
  /** Hears of every failed connection, for example to drop a cached cluster record. */
  onUnreachable?: (error: UnreachableError) => void;
  /** In place of the transport's own agent, for a proxy. */
  agent?: http.Agent;
  /** Milliseconds; default 5,000 for a connection, 60,000 for a request. */
  timeouts?: { connectMs?: number; requestMs?: number };
  userAgent?: string;
}

export interface Transport {
  /** The server URL without a trailing slash. */
  readonly server: string;
  readonly stats: TransportStats;
  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws UnreachableError when no whole answer came, with host and what to check.
   */
  request(request: TransportRequest): Promise<Answer>;
  /** Closes all connections. */
  close(): void;
}

/** A transport that also hands out answers as they come. */
export interface StreamingTransport extends Transport {
  /** GETs an answer without end, on a connection of its own. @throws UnreachableError. */
  stream(request: StreamRequest): Promise<StreamOutcome>;
}

const defaultConnectMs = 5_000;
const defaultRequestMs = 60_000;
const maxSockets = 16;

/**
 * Makes the transport of one cluster. Nothing is sent before the first request.
 * @throws UsageError when `server` is not an http or https URL.
 */
export function createTransport(options: TransportOptions): StreamingTransport {
  const base = serverUrl(options.server);
  const secure = base.protocol === 'https:';
  const where = base.origin;
  const prefix = base.pathname.replace(/\/$/, '');
  const agent = options.agent ?? makeAgent(secure, options.tls);
  const connectMs = options.timeouts?.connectMs ?? defaultConnectMs;
  const requestMs = options.timeouts?.requestMs ?? defaultRequestMs;
  const stats: TransportStats = {
    requests: 0,
    connections: 0,
    throttled: 0,
    bytesReceived: 0,
    bytesDecoded: 0,
  };

  async function headersFor(
    request: Omit<TransportRequest, 'method' | 'path'>,
  ): Promise<Record<string, string>> {
    const headers: Record<string, string> = {
      accept: request.accept ?? 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': options.userAgent ?? 'nodegap',
    };
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      headers[name.toLowerCase()] = value;
    }
    await options.authorize?.(headers);
    if (request.body !== undefined) {
      headers['content-length'] = String(Buffer.byteLength(request.body));
    }
    return headers;
  }

  function prepare(
    request: Pick<TransportRequest, 'path' | 'query' | 'signal'> & { method: Method },
    headers: Record<string, string>,
    through: http.Agent,
  ): http.ClientRequest {
    return (secure ? https : http).request({
      protocol: base.protocol,
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      ...(base.port === '' ? {} : { port: base.port }),
      method: request.method,
      path: `${prefix}${request.path}${queryString(request.query)}`,
      headers,
      agent: through,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  }

  function sendOnce(request: TransportRequest, headers: Record<string, string>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      stats.requests += 1;
      const outgoing = prepare(request, headers, agent);
      const timeoutMs = request.timeoutMs ?? requestMs;
      // Once an answer has begun, destroying the request shows only as a cut connection: the
      // reason is kept here.
      let givenUp: UnreachableError | undefined;
      let answering = false;
      const giveUp = (reason: 'timeout' | 'connect-timeout', detail: string): void => {
        givenUp = unreachableBecause(reason, where, detail);
        outgoing.destroy(givenUp);
      };
      const wholeTimer = setTimeout(
        () => giveUp('timeout', `no whole answer within ${timeoutMs / 1000} s`),
        timeoutMs,
      );
      let connectTimer: NodeJS.Timeout | undefined;
      const settle = (): void => {
        clearTimeout(wholeTimer);
        clearTimeout(connectTimer);
      };
      const fail = (error: unknown): void => {
        settle();
        const failure = givenUp ?? unreachable(where, error);
        const stale = outgoing.reusedSocket && !answering && failure.reason === 'reset';
        reject(stale ? new ReusedSocketError(failure) : failure);
      };
      outgoing.on('socket', (socket) => {
        if (!socket.connecting) return;
        stats.connections += 1;
        connectTimer = setTimeout(
          () => giveUp('connect-timeout', `no connection within ${connectMs / 1000} s`),
          connectMs,
        );
        socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connectTimer));
      });
      outgoing.on('error', fail);
      outgoing.on('response', (incoming) => {
        answering = true;
        noteServerTime(stats, incoming.headers.date);
        if (incoming.statusCode === 429) stats.throttled += 1;
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', fail);
        incoming.on('end', () => {
          settle();
          const raw = Buffer.concat(chunks);
          stats.bytesReceived += raw.length;
          const status = incoming.statusCode ?? 0;
          const { 'content-encoding': encoding, ...headers } = flatHeaders(incoming.headers);
          if (request.encoded === true && status === 200 && encoding === 'gzip') {
            resolve({ status, headers: { ...headers, 'content-encoding': encoding }, body: raw });
            return;
          }
          decode(raw, encoding).then(
            (body) => {
              stats.bytesDecoded += body.length;
              resolve({ status, headers, body });
            },
            (error: unknown) =>
              reject(
                unreachableBecause('reset', where, `a broken answer: ${messageOf(error)}`, error),
              ),
          );
        });
      });
      outgoing.end(request.body);
    });
  }

  async function send(request: TransportRequest): Promise<Answer> {
    const headers = await headersFor(request);
    try {
      return await sendOnce(request, headers);
    } catch (error) {
      if (!(error instanceof ReusedSocketError)) throw heard(unreachable(where, error));
      // What made this connection stale has most likely made the other idle ones stale as well.
      for (const sockets of Object.values(agent.freeSockets)) {
        for (const socket of sockets ?? []) socket.destroy();
      }
      if (request.method !== 'GET') throw heard(error.failure);
    }
    return sendOnce(request, headers).catch((error: unknown) => {
      throw heard(error instanceof ReusedSocketError ? error.failure : unreachable(where, error));
    });
  }

  // A stream takes a connection for long, and never one that may have died while idle.
  const streamAgent = options.agent ?? makeAgent(secure, options.tls, { keepAlive: false });
  async function stream(request: StreamRequest): Promise<StreamOutcome> {
    const outgoing = prepare({ ...request, method: 'GET' }, await headersFor({}), streamAgent);
    const context = { where, secure, connectMs, stats };
    return openStream(outgoing, request, context).catch((error: unknown) => {
      throw heard(unreachable(where, error));
    });
  }

  function heard(failure: UnreachableError): UnreachableError {
    options.onUnreachable?.(failure);
    return failure;
  }

  return {
    server: `${where}${prefix}`,
    stats,
    async request(request) {
      const answer = await send(request);
      if (answer.status !== 401 || options.invalidate === undefined) return answer;
      options.invalidate();
      return send(request);
    },
    async stream(request) {
      const outcome = await stream(request);
      const unauthorised = outcome.kind === 'refused' && outcome.answer.status === 401;
      if (!unauthorised || options.invalidate === undefined) return outcome;
      options.invalidate();
      return stream(request);
    },
    close() {
      agent.destroy();
      streamAgent.destroy();
    },
  };
}

/** kube-apiserver dates every answer; a simulator may not. */
function noteServerTime(stats: TransportStats, date: string | undefined): void {
  const time = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(time)) delete stats.serverTime;
  else stats.serverTime = time;
}

/** A failure on a connection that had served before: most likely closed while idle. */
class ReusedSocketError extends Error {
  readonly failure: UnreachableError;
  constructor(failure: UnreachableError) {
    super(failure.message, { cause: failure });
    this.failure = failure;
  }
}

function makeAgent(
  secure: boolean,
  tls: TlsOptions | undefined,
  pool: http.AgentOptions = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets },
): http.Agent {
  return secure ? new https.Agent({ ...pool, ...tls }) : new http.Agent(pool);
}
