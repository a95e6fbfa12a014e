/** ConfigMaps, Leases and Namespaces as the API server keeps them, over HTTP. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTransport, type Method, type Transport } from '../../lib/kubernetes/transport.ts';
import type { ServedCluster } from '../../local/cluster/api/http-server.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';

const configMaps = '/api/v1/namespaces/nodegap/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/nodegap/leases';

interface Body {
  metadata: { name: string; uid: string; resourceVersion: string; labels?: object };
  data?: Record<string, string>;
  reason?: string;
  message?: string;
}

let served: ServedCluster;
let transport: Transport;

beforeEach(async () => {
  const now = Date.parse('2026-11-30T12:00:00Z');
  const cluster = new SimulatedCluster({ clock: { now: () => now }, historyMs: 0 });
  served = await cluster.serve();
  transport = createTransport({ server: served.url });
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'nodegap' } });
});
afterEach(async () => {
  transport.close();
  await served.close();
});

async function ask(method: Method, path: string, body?: object): Promise<[number, Body]> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await transport.request({ method, path, ...text });
  return [answer.status, JSON.parse(answer.body.toString('utf8')) as Body];
}

const create = (data: Record<string, string> = {}, name = 'a', path = configMaps) =>
  ask('POST', path, { metadata: { name, labels: { part: name } }, data });

describe('a ConfigMap', () => {
  it('is created once, in a namespace that is there', async () => {
    const [status, made] = await create({ key: 'value' });
    expect([status, made]).toMatchObject([
      201,
      { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'nodegap' } },
    ]);
    await expect(create()).resolves.toMatchObject([409, { reason: 'AlreadyExists' }]);
    const elsewhere = '/api/v1/namespaces/none/configmaps';
    await expect(create({}, 'a', elsewhere)).resolves.toMatchObject([
      404,
      { message: 'namespaces "none" not found' },
    ]);
    await expect(ask('GET', `${configMaps}/a`)).resolves.toMatchObject([200, { data: made.data }]);
  });

  it('is replaced on the resourceVersion that was read, and keeps it when nothing changes', async () => {
    const [, read] = await create({ key: '1' });
    const [status, changed] = await ask('PUT', `${configMaps}/a`, { ...read, data: { key: '2' } });
    expect([status, changed]).toMatchObject([200, { data: { key: '2' } }]);
    expect(changed.metadata.resourceVersion).not.toBe(read.metadata.resourceVersion);
    const [, same] = await ask('PUT', `${configMaps}/a`, changed);
    expect(same.metadata.resourceVersion).toBe(changed.metadata.resourceVersion);
    await expect(ask('PUT', `${configMaps}/a`, { ...read, data: {} })).resolves.toMatchObject([
      409,
      { reason: 'Conflict' },
    ]);
    const other = { ...changed, metadata: { ...changed.metadata, uid: 'another' } };
    await expect(ask('PUT', `${configMaps}/a`, other)).resolves.toMatchObject([409, {}]);
    await expect(ask('PUT', `${configMaps}/b`, changed)).resolves.toMatchObject([404, {}]);
  });

  it('is deleted on the resourceVersion that was read', async () => {
    const [, read] = await create();
    const [, changed] = await ask('PUT', `${configMaps}/a`, { ...read, data: { key: '2' } });
    const on = ({ metadata: { uid, resourceVersion } }: Body) => ({
      preconditions: { uid, resourceVersion },
    });
    await expect(ask('DELETE', `${configMaps}/a`, on(read))).resolves.toMatchObject([409, {}]);
    await expect(ask('DELETE', `${configMaps}/a`, on(changed))).resolves.toMatchObject([200, {}]);
    await expect(ask('GET', `${configMaps}/a`)).resolves.toMatchObject([404, {}]);
  });

  it('is listed by label', async () => {
    for (const name of ['a', 'b', 'c']) await create({}, name);
    const query = { labelSelector: 'part in (a,c)' };
    const answer = await transport.request({ method: 'GET', path: configMaps, query });
    const { items } = JSON.parse(answer.body.toString('utf8')) as { items: Body[] };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
  });

  it.each([
    ['a key that is none', { 'a/b': '' }],
    ['more than 1 MiB', { a: 'x'.repeat(1_048_577) }],
  ])('is refused with %s', async (_what, data) => {
    await expect(create(data)).resolves.toMatchObject([422, { reason: 'Invalid' }]);
  });
});

describe('a Lease', () => {
  const lease = (spec: object) => ask('POST', leases, { metadata: { name: 'slot-1' }, spec });

  it('C103 is taken with times in microseconds only', async () => {
    const [status, refusal] = await lease({ renewTime: '2026-11-30T12:00:00.123Z' });
    expect(status).toBe(400);
    expect(refusal.message).toContain('2006-01-02T15:04:05.000000Z07:00');
    await expect(lease({ renewTime: '2026-11-30T12:00:00.123000Z' })).resolves.toMatchObject([
      201,
      {},
    ]);
  });

  it('lasts longer than nothing', async () => {
    await expect(lease({ leaseDurationSeconds: 0 })).resolves.toMatchObject([422, {}]);
  });
});
