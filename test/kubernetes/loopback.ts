/** A small API server stand-in on loopback, answering as each test says and counting connections. */
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: http.IncomingHttpHeaders;
  body: string;
  /** 1 for the first request, across all connections. */
  index: number;
}

export type Reply =
  | { status?: number; headers?: Record<string, string>; body?: unknown }
  /** Never answers. */
  | 'hang'
  /** Closes the connection without an answer. */
  | 'cut'
  /** Announces a body and closes the connection in the middle of it. */
  | 'cut-in-body';

export interface Loopback {
  url: string;
  asked: Asked[];
  /** Connections accepted so far. */
  connections(): number;
  close(): Promise<void>;
}

/** Starts a server; `tls` makes it https. Bodies that are not string or Buffer are sent as JSON. */
export async function startLoopback(
  answer: (request: Asked) => Reply,
  tls?: { cert: Buffer; key: Buffer },
): Promise<Loopback> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const onRequest: http.RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://loopback');
      const one: Asked = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        index: asked.length + 1,
      };
      asked.push(one);
      const reply = answer(one);
      if (reply === 'hang') return;
      if (reply === 'cut') {
        request.socket.destroy();
        return;
      }
      if (reply === 'cut-in-body') {
        response.writeHead(200, { 'content-length': '1000', 'content-type': 'application/json' });
        response.write('{"items":[', () => request.socket.destroy());
        return;
      }
      const { status = 200, headers = {}, body = '' } = reply;
      const raw = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(raw);
    });
  };
  const server =
    tls === undefined ? http.createServer(onRequest) : https.createServer(tls, onRequest);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    asked,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** A meta/v1 Status as the API server writes it. */
export function status(
  code: number,
  reason: string | undefined,
  message: string,
  details: Record<string, unknown> = {},
): Reply {
  return {
    status: code,
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === undefined ? {} : { reason }),
      details,
      code,
    },
  };
}

/** The API server's own answer for an object that is not there. */
export function notFound(resource: string, name: string): Reply {
  return status(404, 'NotFound', `${resource} "${name}" not found`, { name, kind: resource });
}

/** A list page; a token says that more follows. */
export function page(items: unknown[], token = ''): Reply {
  return { body: { kind: 'List', metadata: { continue: token }, items } };
}

/** What an asynchronous function throws; fails when it throws nothing. */
export async function thrown(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
