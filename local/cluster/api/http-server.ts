/** The simulated API server on a loopback port, with a hook to disturb requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiAnswer, ApiRequest, ApiServer } from './api-server.ts';
import { StatusError, usualRefusal } from './status.ts';
import type { Watches } from './watches.ts';

/** What goes wrong with one request. */
export type Disturbance =
  /** Refused before anything is done. */
  | {
      kind: 'refuse';
      status: number;
      reason?: string;
      message?: string;
      retryAfterSeconds?: number;
    }
  /** Carried out, but the answer is another one. */
  | { kind: 'refuse-afterwards'; status: number; message?: string }
  /** The connection breaks, and nothing was done. */
  | { kind: 'cut' }
  /** The connection breaks after it was carried out. */
  | { kind: 'cut-afterwards' };

/**
 * Looks at a request before it is carried out. It may be slow (return a promise): that is how
 * latency is made without a timer in here.
 */
export type RequestHook = (
  request: ApiRequest,
) => Disturbance | undefined | Promise<Disturbance | undefined>;

/** A bearer token and whom it stands for. */
export interface Identity {
  name: string;
  token: string;
}

export interface HttpServerOptions {
  /** Without any, everybody may ask, as nobody in particular. */
  identities: Identity[];
  hooks: RequestHook[];
  /** Called right before each request is carried out. */
  catchUp: () => void;
  /** Without it no watch is served. */
  watches?: Watches;
}

/** Options for client-node's `KubeConfig.loadFromOptions`. */
export interface KubeconfigOptions {
  clusters: { name: string; server: string; skipTLSVerify: boolean }[];
  users: { name: string; token?: string }[];
  contexts: { name: string; cluster: string; user: string }[];
  currentContext: string;
}

export interface ServedCluster {
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** For the first identity, or for nobody in particular. */
  kubeconfig: KubeconfigOptions;
  kubeconfigFor(identity: string): KubeconfigOptions;
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. */
export async function serveHttp(
  api: ApiServer,
  name: string,
  options: HttpServerOptions,
): Promise<ServedCluster> {
  const server = createServer((incoming, outgoing) => {
    // It would be the time of this computer, and not that of the simulation.
    outgoing.sendDate = false;
    answerOne(api, options, incoming, outgoing).catch((error: unknown) => {
      // A fault of the simulation itself: visible in the answer, never a hanging request.
      send(outgoing, toAnswer(usualRefusal(500, { message: String(error) })));
    });
  });
  // A client must never meet a connection that this side has just closed for being idle.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [first] = options.identities;
  return {
    url,
    kubeconfig: kubeconfigOf(name, url, first),
    kubeconfigFor(identity) {
      const found = options.identities.find((candidate) => candidate.name === identity);
      if (found === undefined) throw new Error(`there is no identity "${identity}"`);
      return kubeconfigOf(name, url, found);
    },
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

function kubeconfigOf(name: string, server: string, identity?: Identity): KubeconfigOptions {
  const user = identity === undefined ? { name: 'anonymous' } : { ...identity };
  return {
    // client-node refuses plain http unless verification is off.
    clusters: [{ name, server, skipTLSVerify: true }],
    users: [user],
    contexts: [{ name, cluster: name, user: user.name }],
    currentContext: name,
  };
}

async function answerOne(
  api: ApiServer,
  options: HttpServerOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const identity = identify(incoming, options.identities);
  const request: ApiRequest = {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    contentType: (incoming.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '',
    body: await bodyOf(incoming),
    identity: identity?.name,
  };
  const unknownCaller = options.identities.length > 0 && identity === undefined;
  const watch = await openWatch(api, options, request, unknownCaller, outgoing);
  if (watch === 'open') return;
  const answer = watch ?? (await answerRequest(api, options, request, unknownCaller));
  if (answer === 'cut') outgoing.destroy();
  else send(outgoing, answer);
}

/** Opens a watch, or says how it is refused. Undefined when the request is for none. */
async function openWatch(
  api: ApiServer,
  { watches, hooks, catchUp }: HttpServerOptions,
  request: ApiRequest,
  unknownCaller: boolean,
  outgoing: ServerResponse,
): Promise<ApiAnswer | 'open' | 'cut' | undefined> {
  if (watches === undefined || request.query.get('watch') !== 'true') return undefined;
  let disturbance: Disturbance | undefined;
  for (const hook of hooks) disturbance ??= await hook(request);
  catchUp();
  const refused = refusalOf(disturbance, unknownCaller);
  if (refused !== undefined) return refused === 'cut' ? 'cut' : toAnswer(refused);
  const lines: string[] = [];
  let write = (line: string): unknown => lines.push(line);
  try {
    const wanted = api.watchOf(request);
    if (wanted === undefined) return undefined;
    const close = watches.open(wanted, {
      write: (line) => write(line),
      end: () => outgoing.end(),
      cut: () => outgoing.destroy(),
    });
    outgoing.on('close', close);
  } catch (error) {
    if (error instanceof StatusError) return toAnswer(error);
    throw error;
  }
  outgoing.writeHead(200, { 'content-type': 'application/json' });
  outgoing.flushHeaders();
  write = (line) => outgoing.write(line);
  for (const line of lines) write(line);
  return 'open';
}

/** Carries out one request, disturbed as the hooks say. `cut`: the caller gets no answer. */
export async function answerRequest(
  api: ApiServer,
  options: Pick<HttpServerOptions, 'hooks' | 'catchUp'>,
  request: ApiRequest,
  unknownCaller: boolean,
): Promise<ApiAnswer | 'cut'> {
  let disturbance: Disturbance | undefined;
  for (const hook of options.hooks) disturbance ??= await hook(request);
  options.catchUp();
  const refused = refusalOf(disturbance, unknownCaller);
  if (refused !== undefined) {
    api.record(request, refused === 'cut' ? 0 : refused.body.code);
    return refused === 'cut' ? 'cut' : toAnswer(refused);
  }
  const answer = api.handle(request);
  if (disturbance?.kind === 'cut-afterwards') return 'cut';
  if (disturbance?.kind === 'refuse-afterwards') {
    return toAnswer(usualRefusal(disturbance.status, disturbance));
  }
  return answer;
}

function refusalOf(
  disturbance: Disturbance | undefined,
  unknownCaller: boolean,
): StatusError | 'cut' | undefined {
  if (disturbance?.kind === 'cut') return 'cut';
  if (disturbance?.kind === 'refuse') return usualRefusal(disturbance.status, disturbance);
  return unknownCaller ? usualRefusal(401) : undefined;
}

function identify(incoming: IncomingMessage, identities: Identity[]): Identity | undefined {
  const token = /^Bearer (.+)$/.exec(incoming.headers.authorization ?? '')?.[1];
  return identities.find((identity) => identity.token === token);
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function toAnswer({ body, retryAfterSeconds }: StatusError): ApiAnswer {
  return {
    status: body.code,
    body,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

function send(outgoing: ServerResponse, answer: ApiAnswer): void {
  if (outgoing.headersSent || outgoing.destroyed) return;
  const text = typeof answer.body === 'string';
  outgoing.writeHead(answer.status, {
    'content-type': text ? 'text/plain' : 'application/json',
    ...(answer.retryAfterSeconds === undefined
      ? {}
      : { 'retry-after': String(answer.retryAfterSeconds) }),
  });
  outgoing.end(text ? answer.body : JSON.stringify(answer.body));
}
