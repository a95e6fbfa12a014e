/** The state in the cluster on a real API server, under exactly the rights of an operator. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openClusterState } from '../../lib/cluster-state/open.ts';
import { createTransport, type Transport } from '../../lib/kubernetes/transport.ts';
import { systemPacing } from '../../lib/pacing.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { readInstallation } from '../../local/remediate/installation.ts';
import { describeStateTable } from '../local/table-contract.ts';
import { parallelLimits } from '../safety/contention.ts';
import { countsOf, slotRequest } from '../safety/samples.ts';
import { ApiError } from './harness/client.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import type { Identity } from './harness/identities.ts';
import { applyNode } from './harness/objects.ts';
import { waitFor } from './harness/wait.ts';
import { applyRbac } from './support/rbac.ts';

let cluster: ControlPlane;
const transports: Transport[] = [];

beforeAll(async () => {
  cluster = await startControlPlane({ controllerManagerFlags: ['--controllers=namespace'] });
});

afterAll(async () => {
  for (const transport of transports) transport.close();
  await cluster?.stop();
});

function transportOf(identity: Identity): Transport {
  const transport = createTransport({
    server: cluster.server,
    tls: { ca: readFileSync(cluster.caFile) },
    authorize: async (headers) => {
      headers.authorization = `Bearer ${cluster.tokens[identity]}`;
    },
  });
  transports.push(transport);
  return transport;
}

function open(identity: Identity, name = 'ann@laptop', namespace = 'nodegap') {
  const who = { installation: 'local/e2e', cluster: 'prod', identity: name };
  return openClusterState(transportOf(identity), { ...who, namespace });
}

test('without its rights it says what to apply, and with the right makes the namespace', async () => {
  await expect(open('operator')).rejects.toMatchObject({
    code: 'Kubernetes.forbidden',
    hint: expect.stringContaining('nodegap rbac --operator'),
  });
  await open('admin', 'admin', 'nodegap-made');
  const made = await cluster.kubectl(['get', 'namespace', 'nodegap-made', '-o', 'name']);
  expect(made.trim()).toBe('namespace/nodegap-made');
  await applyRbac(cluster, ['--operator']);
  await waitFor(async () => (await open('operator').catch(() => undefined)) !== undefined, {
    timeout: 10_000,
    what: 'the rights of the operator to be in force',
  });
});

test('an operator may tell the cluster from others', async () => {
  await expect(readInstallation(transportOf('operator'))).resolves.toMatch(
    /^local\/[-0-9a-f]{36}$/,
  );
});

test('an operator may change the state, and no other ConfigMap, Lease or Namespace', async () => {
  const client = cluster.client('operator');
  const refused = [
    () => client.get('/api/v1/namespaces/default/configmaps'),
    () => client.get('/api/v1/configmaps'),
    () =>
      client.delete('/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'),
    () => client.get('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'),
    () => client.create('/api/v1/namespaces', { metadata: { name: 'x' } }),
    () => client.delete('/api/v1/namespaces/nodegap'),
    () => client.get('/api/v1/namespaces/default'),
    () => client.get('/api/v1/namespaces'),
    () => client.get('/api/v1/namespaces/nodegap/secrets'),
    () => client.delete('/api/v1/nodes/worker-1'),
  ];
  for (const request of refused) {
    const outcome = await request().then(
      () => 'granted',
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(ApiError);
    expect(outcome).toMatchObject({ status: 403 });
  }
  for (const identity of ['reader', 'actuator'] as const) {
    const path = '/api/v1/namespaces/nodegap/configmaps/nodegap-journal';
    await expect(cluster.client(identity).get(path)).rejects.toMatchObject({ status: 403 });
  }
});

test('of a node an operator changes no more than the actuator may', async () => {
  await applyNode(cluster.client(), { name: 'worker-1' });
  const change = { metadata: { labels: { probe: 'x' } } };
  const refusal = await waitFor(
    () =>
      cluster
        .client('operator')
        .patch('/api/v1/nodes/worker-1?dryRun=All', change)
        .then(
          () => undefined,
          (error: unknown) => error,
        ),
    { timeout: 30_000, what: 'the admission policy to be in force' },
  );
  expect(refusal).toMatchObject({
    status: 403,
    message: expect.stringContaining('nodegap-actuator-node-changes'),
  });
});

test('C103 the API server takes the Lease of a slot, and its renewals', async () => {
  const { table, leases } = await open('operator');
  const key = { pk: 'cluster#prod', sk: 'slot#uid-1' };
  await table.transact([{ kind: 'put', item: { ...key, execution: 'e1' } }]);
  expect(await leases.renew('uid-1')).toBe('renewed');
  const lease = JSON.parse(
    await cluster.kubectl(['-n', 'nodegap', 'get', 'lease', 'slot-uid-1', '-o', 'json']),
  );
  const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
  expect(lease.spec).toMatchObject({
    holderIdentity: 'ann@laptop',
    leaseDurationSeconds: 30,
    acquireTime: expect.stringMatching(microTime),
    renewTime: expect.stringMatching(microTime),
  });
  const bob = await open('operator', 'bob@laptop');
  await expect(bob.table.transact([{ kind: 'delete', key }])).rejects.toMatchObject({
    code: 'State.SlotHeld',
  });
  const [seen] = await bob.leases.list();
  if (seen === undefined) throw new Error('there is to be a slot');
  await leases.renew('uid-1');
  expect(await bob.leases.takeOver(seen, { gone: true })).toBe(false);
  const [again] = await bob.leases.list();
  if (again === undefined) throw new Error('there is to be a slot');
  expect(await bob.leases.takeOver(again, { gone: true })).toBe(true);
  expect(await leases.renew('uid-1')).toBe('lost');
  await bob.table.transact([{ kind: 'delete', key }]);
  await bob.table.sweep();
  expect(await cluster.kubectl(['-n', 'nodegap', 'get', 'leases', '-o', 'name'])).toBe('');
});

test('processes that write at once count every write once, also over an edit by hand', async () => {
  const states = await Promise.all(
    Array.from({ length: 5 }, (_, n) => open('operator', `process-${n}`)),
  );
  const keys = ['last-scan', 'overview'].map((sk) => ({ pk: 'cluster#prod', sk }));
  const count = keys.map((key) => ({ kind: 'update', key, increment: { n: 1 } }) as const);
  await states[0]?.table.transact(count);
  const annotate = cluster.kubectl([
    '-n',
    'nodegap',
    'annotate',
    'configmap',
    'cluster',
    'by=hand',
  ]);
  await Promise.all(
    states.map(async ({ table }) => {
      for (let times = 0; times < 4; times += 1) await table.transact(count);
    }),
  );
  await annotate;
  for (const key of keys) {
    expect(await states[0]?.table.get(key)).toEqual({ ...key, n: 21 });
  }
  const note = '{.metadata.annotations.by}';
  const path = ['-n', 'nodegap', 'get', 'configmap', 'cluster', '-o', `jsonpath=${note}`];
  expect(await cluster.kubectl(path)).toBe('hand');
});

test('processes that want slots at once never take more than allowed', async () => {
  const clock = { now: () => Date.now() };
  const nodes = Array.from({ length: 8 }, (_, n) => ({
    name: `n${n}`,
    pool: 'p',
    zone: `zone-${n % 3}`,
    unhealthy: true,
  }));
  const counts = countsOf({ nodes, percent: 100 });
  const outcomes = await Promise.all(
    nodes.map(async ({ name, pool, zone }) => {
      const { table } = await open('operator', name);
      const limits = { ...parallelLimits, maxUnhealthyPercent: 100 };
      const slots = new Slots(table, clock, limits, systemPacing);
      return slots.acquire(slotRequest({ node: name, pool, zone, counts, countedAt: clock.now() }));
    }),
  );
  const taken = outcomes.filter(({ kind }) => kind === 'acquired');
  expect(taken).toHaveLength(parallelLimits.parallelPerPool);
  expect(await (await open('operator')).leases.list()).toHaveLength(taken.length);
});

let namespaces = 0;
describeStateTable('ClusterTable on a real API server', async () => {
  namespaces += 1;
  return (await open('admin', 'admin', `nodegap-${namespaces}`)).table;
});
