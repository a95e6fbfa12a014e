import { readFileSync } from 'node:fs';
import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EksClusterRecord } from '../../lib/aws/eks-cluster.ts';
import { connectEks, createEksAccess, eksAccessOf } from '../../lib/aws/eks-connect.ts';
import { connectEksWriter } from '../../lib/aws/eks-connect-writer.ts';
import { createEksTokens } from '../../lib/aws/eks-token.ts';
import { type Asked, page, type Reply, startLoopback, thrown } from '../kubernetes/loopback.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../kubernetes/fixtures/${name}`, import.meta.url));
const cert = fixture('loopback-test-only.cert.pem');
const key = fixture('loopback-test-only.key.pem');

/** An authority that did not sign the loopback server's certificate. */
const otherAuthority = fixture('other-authority-test-only.cert.pem').toString('utf8');

const cluster = { name: 'prod', region: 'eu-central-1' };
const minute = 60_000;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(answer: (asked: Asked) => Reply) {
  const server = await startLoopback(answer, { cert, key });
  cleanups.push(() => server.close());
  return server;
}

/** Access to a cluster at `url` whose record and clock the test may change. */
function accessTo(url: string, authority = cert.toString('utf8')) {
  const clock = { time: Date.parse('2026-03-01T10:00:00Z'), now: () => clock.time };
  const record: EksClusterRecord = {
    name: cluster.name,
    arn: 'arn:aws:eks:eu-central-1:111122223333:cluster/prod',
    endpoint: url,
    certificateAuthority: authority,
    authenticationMode: 'API',
  };
  const dropped: string[] = [];
  const access = eksAccessOf({
    clusters: {
      recordOf: async () => ({ ...record }),
      drop: ({ name }) => dropped.push(name),
    },
    tokens: createEksTokens(
      async () => ({ accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 't' }),
      clock,
    ),
  });
  cleanups.push(async () => (await access.transportOf(cluster)).close());
  return { access, clock, record, dropped };
}

/** When the token of a request was signed, epoch ms. */
function signedAt(authorization: string | undefined): number {
  const token = authorization?.slice('Bearer k8s-aws-v1.'.length) ?? '';
  const url = new URL(Buffer.from(token, 'base64url').toString('utf8'));
  const [date = '', time = ''] = (url.searchParams.get('X-Amz-Date') ?? '').split('T');
  const iso = `${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)Z/, '$1:$2:$3Z')}`;
  return Date.parse(iso);
}

describe('C100: one warm process at 0, 14, 16 and 60 minutes', () => {
  it('sends a token that is valid each time, without a single 401', async () => {
    const { url, asked } = await serve(({ headers }) => {
      // As the server of EKS does: valid until 15 minutes after the date that was signed.
      const age = clock.time - signedAt(headers.authorization);
      return age >= 0 && age < 15 * minute ? page([]) : { status: 401 };
    });
    const { access, clock } = accessTo(url);
    const start = clock.time;
    for (const minutes of [0, 14, 16, 60]) {
      clock.time = start + minutes * minute;
      const reader = await connectEks(cluster, access);
      expect(await reader.listNodes()).toEqual([]);
    }
    expect(asked).toHaveLength(4);
    expect(new Set(asked.map(({ headers }) => headers.authorization)).size).toBe(3);
  });

  it('signs one new token after a 401 and sends the request again', async () => {
    let refused: string | undefined;
    const { url, asked } = await serve(({ headers }) => {
      refused ??= headers.authorization;
      clock.time += 1_000;
      return headers.authorization === refused ? { status: 401 } : page([]);
    });
    const { access, clock } = accessTo(url);
    const reader = await connectEks(cluster, access);
    expect(await reader.listNodes()).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it('throws when the new token is refused as well', async () => {
    const { url, asked } = await serve(() => ({ status: 401 }));
    const reader = await connectEks(cluster, accessTo(url).access);
    expect(await thrown(() => reader.listNodes())).toMatchObject({
      kind: 'unauthorised',
      hint: expect.stringContaining('access entry'),
    });
    expect(asked).toHaveLength(2);
  });
});

describe('createEksAccess', () => {
  it("signs with the credentials of the SDK's own chain", async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDFROMENV');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    cleanups.push(() => vi.unstubAllEnvs());
    const server = await serve(() => page([]));
    const eks = mockClient(EKSClient);
    cleanups.push(() => eks.restore());
    eks.on(DescribeClusterCommand, { name: 'prod' }).resolves({
      cluster: {
        name: 'prod',
        arn: 'arn:aws:eks:eu-central-1:111122223333:cluster/prod',
        endpoint: server.url,
        certificateAuthority: { data: cert.toString('base64') },
      },
    });
    const access = createEksAccess(cluster.region);
    cleanups.push(async () => (await access.transportOf(cluster)).close());
    expect(await (await connectEks(cluster, access)).listNodes()).toEqual([]);
    const token = server.asked[0]?.headers.authorization?.slice('Bearer k8s-aws-v1.'.length) ?? '';
    expect(Buffer.from(token, 'base64url').toString('utf8')).toContain('AKIDFROMENV');
  });
});

describe('connections', () => {
  it('shares one connection between readers and writers of a cluster', async () => {
    const server = await serve(({ method }) =>
      method === 'GET' ? page([]) : { status: 201, body: {} },
    );
    const { access } = accessTo(server.url);
    for (let i = 0; i < 5; i += 1) {
      await (await connectEks(cluster, access)).listNodes();
      const client = await connectEksWriter(cluster, access);
      await client.listDaemonSets();
      await client.evictPod({ namespace: 'n', name: 'p', uid: 'u' });
    }
    expect(server.connections()).toBe(1);
  });

  it('opens a new one when the cluster is described with another endpoint', async () => {
    const old = await serve(() => page([]));
    const renewed = await serve(() => page([]));
    const { access, record } = accessTo(old.url);
    await (await connectEks(cluster, access)).listNodes();
    record.endpoint = renewed.url;
    await (await connectEks(cluster, access)).listNodes();
    expect([old.asked.length, renewed.asked.length]).toEqual([1, 1]);
  });

  it('drops the cluster record when its authority no longer fits', async () => {
    const { url } = await serve(() => page([]));
    const { access, dropped } = accessTo(url, otherAuthority);
    const reader = await connectEks(cluster, access);
    expect(await thrown(() => reader.listNodes())).toMatchObject({ reason: 'tls' });
    expect(dropped).toEqual(['prod']);
  });

  it('keeps the cluster record when the server only refuses the connection', async () => {
    const server = await startLoopback(() => page([]));
    await server.close();
    const { access, dropped } = accessTo(server.url);
    const reader = await connectEks(cluster, access);
    expect(await thrown(() => reader.listNodes())).toMatchObject({ reason: 'refused' });
    expect(dropped).toEqual([]);
  });
});
