import { readFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../lib/errors.ts';
import { UnreachableError } from '../../lib/kubernetes/errors.ts';
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from '../../lib/kubernetes/transport.ts';
import { unreachable } from '../../lib/kubernetes/unreachable.ts';
import { type Asked, type Loopback, type Reply, startLoopback, thrown } from './loopback.ts';

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url));
const testOnlyTls = {
  cert: fixture('loopback-test-only.cert.pem'),
  key: fixture('loopback-test-only.key.pem'),
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(answer: (asked: Asked) => Reply, tls?: typeof testOnlyTls): Promise<Loopback> {
  const server = await startLoopback(answer, tls);
  cleanups.push(() => server.close());
  return server;
}

function transportTo(server: string, options: Partial<TransportOptions> = {}): Transport {
  const transport = createTransport({ server, ...options });
  cleanups.push(() => transport.close());
  return transport;
}

const get = { method: 'GET', path: '/api/v1/nodes' } as const;

describe('connections', () => {
  it('sends 50 requests one after the other over one connection', async () => {
    const server = await serve(() => ({ body: {} }));
    const transport = transportTo(server.url);
    for (let i = 0; i < 50; i += 1) await transport.request(get);
    expect(server.connections()).toBe(1);
    expect(transport.stats).toMatchObject({ requests: 50, connections: 1 });
  });

  it('opens no more connections than requests run at the same time', async () => {
    const server = await serve(() => ({ body: {} }));
    const transport = transportTo(server.url);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([transport.request(get), transport.request(get)]);
    }
    expect(server.connections()).toBe(2);
  });

  it('sends a GET again when a connection was closed while it lay idle', async () => {
    const server = await serve(({ index }) => (index === 2 ? 'cut' : { body: { index } }));
    const transport = transportTo(server.url);
    await transport.request(get);
    const answer = await transport.request(get);
    expect(JSON.parse(answer.body.toString())).toEqual({ index: 3 });
    expect(server.connections()).toBe(2);
  });

  it('never sends a POST again, since it may have been carried out', async () => {
    const server = await serve(({ method }) => (method === 'POST' ? 'cut' : { body: {} }));
    const transport = transportTo(server.url);
    await transport.request(get);
    const error = await thrown(() => transport.request({ method: 'POST', path: '/x', body: '{}' }));
    expect(error).toMatchObject({ kind: 'unreachable', reason: 'reset', mayHaveHappened: true });
    expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('does not send a GET again when a new connection is cut', async () => {
    const server = await serve(() => 'cut');
    const error = await thrown(() => transportTo(server.url).request(get));
    expect(error).toMatchObject({ reason: 'reset' });
    expect(server.asked).toHaveLength(1);
  });
});

describe('requests and answers', () => {
  it('sends query, headers, body and its length, under the path of the server', async () => {
    const server = await serve(() => ({ status: 201, body: { ok: true } }));
    const transport = transportTo(`${server.url}/k8s/clusters/c-1/`, { userAgent: 'nodegap/1' });
    const answer = await transport.request({
      method: 'POST',
      path: '/api/v1/x',
      query: { fieldSelector: 'spec.nodeName=a,b' },
      headers: { 'Content-Type': 'application/json' },
      body: '{"é":1}',
    });
    expect(answer.status).toBe(201);
    expect(transport.server).toBe(`${server.url}/k8s/clusters/c-1`);
    const asked = server.asked[0];
    expect(asked).toMatchObject({ path: '/k8s/clusters/c-1/api/v1/x', body: '{"é":1}' });
    expect(asked?.query.get('fieldSelector')).toBe('spec.nodeName=a,b');
    expect(asked?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '8',
      accept: 'application/json',
      'user-agent': 'nodegap/1',
    });
  });

  it('decompresses gzip and counts both sizes', async () => {
    const text = JSON.stringify({ items: 'x'.repeat(10_000) });
    const zipped = gzipSync(text);
    const server = await serve(() => ({ headers: { 'content-encoding': 'gzip' }, body: zipped }));
    const transport = transportTo(server.url);
    const answer = await transport.request(get);
    expect(answer.body.toString()).toBe(text);
    expect(server.asked[0]?.headers['accept-encoding']).toBe('gzip');
    expect(transport.stats).toMatchObject({
      bytesReceived: zipped.length,
      bytesDecoded: text.length,
    });
  });

  it('counts the answers that ask to come back later', async () => {
    const server = await serve(({ index }) => ({ status: index === 1 ? 429 : 200 }));
    const transport = transportTo(server.url);
    await transport.request(get);
    await transport.request(get);
    expect(transport.stats).toMatchObject({ requests: 2, throttled: 1 });
  });

  it('hands over the body of a 200 as it came when asked to, and no refusal', async () => {
    const zipped = gzipSync('text');
    let status = 200;
    const headers = { 'content-encoding': 'gzip' };
    const server = await serve(() => ({ status, headers, body: zipped }));
    const transport = transportTo(server.url);
    const request = { method: 'GET', path: '/x', encoded: true } as const;
    const answer = await transport.request(request);
    expect(answer.body).toEqual(zipped);
    expect(answer.headers['content-encoding']).toBe('gzip');
    status = 403;
    const refusal = await transport.request(request);
    expect(refusal.body.toString()).toBe('text');
    expect(refusal.headers['content-encoding']).toBeUndefined();
  });

  it('refuses a gzip answer that is broken', async () => {
    const half = gzipSync('x'.repeat(10_000)).subarray(0, 20);
    const server = await serve(() => ({ headers: { 'content-encoding': 'gzip' }, body: half }));
    expect(await thrown(() => transportTo(server.url).request(get))).toMatchObject({
      reason: 'reset',
    });
  });

  it('refuses an answer that breaks off in the middle', async () => {
    const server = await serve(() => 'cut-in-body');
    expect(await thrown(() => transportTo(server.url).request(get))).toMatchObject({
      kind: 'unreachable',
      reason: 'reset',
    });
  });

  it('refuses a server address that is no URL', () => {
    expect(() => createTransport({ server: 'ftp://x' })).toThrow(UsageError);
    expect(() => createTransport({ server: 'not a url' })).toThrow('is not an http or https URL');
  });
});

describe('authorisation', () => {
  it('asks for the headers of every request', async () => {
    const server = await serve(() => ({ body: {} }));
    let calls = 0;
    const transport = transportTo(server.url, {
      async authorize(headers) {
        calls += 1;
        headers.authorization = `Bearer t${calls}`;
      },
    });
    await transport.request(get);
    await transport.request(get);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer t1',
      'Bearer t2',
    ]);
  });

  it('renews the credentials once after a 401 and sends the request again', async () => {
    let token = 'old';
    const server = await serve(({ headers }) =>
      headers.authorization === 'Bearer new' ? { body: {} } : { status: 401 },
    );
    const transport = transportTo(server.url, {
      async authorize(headers) {
        headers.authorization = `Bearer ${token}`;
      },
      invalidate() {
        token = 'new';
      },
    });
    expect((await transport.request(get)).status).toBe(200);
    expect(server.asked).toHaveLength(2);
  });

  it('gives a second 401 to the caller', async () => {
    const server = await serve(() => ({ status: 401 }));
    let renewals = 0;
    const transport = transportTo(server.url, {
      invalidate() {
        renewals += 1;
      },
    });
    expect((await transport.request(get)).status).toBe(401);
    expect(renewals).toBe(1);
    expect(server.asked).toHaveLength(2);
  });

  it('does not repeat a 401 when nothing can be renewed', async () => {
    const server = await serve(() => ({ status: 401 }));
    expect((await transportTo(server.url).request(get)).status).toBe(401);
    expect(server.asked).toHaveLength(1);
  });
});

describe('unreachable', () => {
  it('names the host, the reason and what to check when nothing listens', async () => {
    const server = await startLoopback(() => ({ body: {} }));
    await server.close();
    const heard: UnreachableError[] = [];
    const transport = transportTo(server.url, { onUnreachable: (error) => heard.push(error) });
    const error = await thrown(() => transport.request(get));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error).toMatchObject({
      kind: 'unreachable',
      reason: 'refused',
      status: 0,
      mayHaveHappened: false,
      message: `cannot reach ${server.url}: the connection was refused (ECONNREFUSED)`,
      hint: expect.stringContaining('address and port'),
    });
    expect(heard).toEqual([error]);
  });

  it('gives up a connection that is not made in time, and says what to check', async () => {
    // Accepts the TCP connection and never answers the TLS greeting.
    const mute = net.createServer((socket) => cleanups.push(() => socket.destroy()));
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => mute.close());
    const { port } = mute.address() as AddressInfo;
    const transport = transportTo(`https://127.0.0.1:${port}`, { timeouts: { connectMs: 50 } });
    expect(await thrown(() => transport.request(get))).toMatchObject({
      reason: 'connect-timeout',
      message: expect.stringContaining('no connection within 0.05 s'),
      hint: expect.stringContaining('security groups'),
    });
  });

  it('gives up a request that is not answered in time', async () => {
    const server = await serve(() => 'hang');
    const transport = transportTo(server.url, { timeouts: { requestMs: 50 } });
    expect(await thrown(() => transport.request(get))).toMatchObject({
      reason: 'timeout',
      mayHaveHappened: true,
    });
    expect(await thrown(() => transport.request({ ...get, timeoutMs: 20 }))).toMatchObject({
      message: expect.stringContaining('within 0.02 s'),
    });
  });

  it('stops when the caller gives up', async () => {
    const server = await serve(() => 'hang');
    const signal = AbortSignal.abort();
    expect(await thrown(() => transportTo(server.url).request({ ...get, signal }))).toMatchObject({
      reason: 'aborted',
    });
  });

  it.each([
    ['ENOTFOUND', 'dns'],
    ['EAI_AGAIN', 'dns'],
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'refused'],
    ['ETIMEDOUT', 'connect-timeout'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'reset'],
  ])('takes %s for %s', (code, reason) => {
    const error = Object.assign(new Error('x'), { code });
    expect(unreachable('https://h', error)).toMatchObject({ reason, cause: error });
  });

  it('takes the first of several addresses that all failed', () => {
    const each = Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
    expect(unreachable('https://h', new AggregateError([each, each]))).toMatchObject({
      reason: 'refused',
    });
  });
});

describe('TLS', () => {
  it('trusts the given authority, over one connection', async () => {
    const server = await serve(() => ({ body: {} }), testOnlyTls);
    const transport = transportTo(server.url, { tls: { ca: testOnlyTls.cert } });
    for (let i = 0; i < 10; i += 1) {
      expect((await transport.request(get)).status).toBe(200);
    }
    expect(server.connections()).toBe(1);
  });

  it('refuses a certificate of an authority it was not given', async () => {
    const server = await serve(() => ({ body: {} }), testOnlyTls);
    expect(await thrown(() => transportTo(server.url).request(get))).toMatchObject({
      reason: 'tls',
      message: expect.stringContaining('certificate was not accepted'),
    });
    expect(server.asked).toHaveLength(0);
  });

  it('takes any certificate only when told to', async () => {
    const server = await serve(() => ({ body: {} }), testOnlyTls);
    const transport = transportTo(server.url, { tls: { rejectUnauthorized: false } });
    expect((await transport.request(get)).status).toBe(200);
  });
});
