/** An API server stand-in for one resource: a list, and watches that a test writes to by hand. */
import http, { type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { constants, createGzip, type Gzip } from 'node:zlib';

export interface Named {
  metadata: { name: string; uid: string; resourceVersion: string };
}

export function named(name: string, resourceVersion: number): Named {
  return { metadata: { name, uid: `uid-${name}`, resourceVersion: String(resourceVersion) } };
}

/** One watch that a client has opened. */
export interface OpenWatch {
  query: URLSearchParams;
  /** The bytes as they are, compressed when the server compresses. */
  write(bytes: string | Buffer): void;
  event(type: string, object: unknown): void;
  /** Ends the answer in order. */
  end(): void;
  /** Breaks the connection. */
  cut(): void;
  /** Resolves when the client has gone. */
  closed: Promise<void>;
}

/** How the next watch is answered instead of being opened. */
export type Refusal = { status: number; body: unknown; headers?: Record<string, string> } | 'cut';

export class WatchServer {
  readonly lists: URLSearchParams[] = [];
  readonly watches: OpenWatch[] = [];
  items: unknown[] = [];
  resourceVersion = '1';
  /** Answers for the next watches and lists, in order; `undefined` for the usual one. */
  readonly refuseWatch: (Refusal | undefined)[] = [];
  readonly refuseList: (Refusal | undefined)[] = [];
  gzip = false;
  url = '';
  #server: http.Server | undefined;
  readonly #sockets = new Set<Socket>();
  #waiting: { count: number; resolve: (watch: OpenWatch) => void }[] = [];

  async start(tls?: { cert: Buffer; key: Buffer }): Promise<this> {
    const handle = (request: http.IncomingMessage, response: ServerResponse): void => {
      const { searchParams } = new URL(request.url ?? '/', 'http://loopback');
      const watching = searchParams.get('watch') === 'true';
      if (!watching) this.lists.push(searchParams);
      const refusal = (watching ? this.refuseWatch : this.refuseList).shift();
      if (refusal === 'cut') request.socket.destroy();
      else if (refusal !== undefined) send(response, refusal);
      else if (watching) this.#open(searchParams, response);
      else {
        const { items, resourceVersion } = this;
        send(response, { status: 200, body: { metadata: { resourceVersion }, items } });
      }
    };
    const server = tls === undefined ? http.createServer(handle) : https.createServer(tls, handle);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
    return this;
  }

  /** The watch number `count`, as soon as it is opened. */
  watch(count: number): Promise<OpenWatch> {
    const there = this.watches[count - 1];
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server?.close(() => resolve()));
  }

  #open(query: URLSearchParams, response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(this.gzip ? { 'content-encoding': 'gzip' } : {}),
    });
    response.flushHeaders();
    let gzip: Gzip | undefined;
    if (this.gzip) {
      gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
      gzip.pipe(response);
    }
    const target = gzip ?? response;
    const watch: OpenWatch = {
      query,
      write: (bytes) => target.write(bytes),
      event: (type, object) => target.write(`${JSON.stringify({ type, object })}\n`),
      end: () => target.end(),
      cut: () => response.socket?.destroy(),
      closed: new Promise((resolve) => response.on('close', resolve)),
    };
    this.watches.push(watch);
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (count !== this.watches.length) return true;
      resolve(watch);
      return false;
    });
  }
}

function send(response: ServerResponse, { status, body, headers }: Exclude<Refusal, 'cut'>): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** A meta/v1 Status, as a refusal and inside an ERROR event. */
export function statusOf(code: number, reason: string, message = reason): Record<string, unknown> {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message };
}
