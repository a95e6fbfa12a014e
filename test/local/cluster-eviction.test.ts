import { describe, expect, it } from 'vitest';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { condition, makeCluster, minute, second, serve } from './cluster-helpers.ts';

/** Two nodes with a workload of four, and what a test needs to evict from it. */
async function workload(options: Parameters<typeof build>[0] = {}) {
  const made = build(options);
  return { ...made, api: await serve(made.cluster) };
}

function build(options: { pdb?: { minAvailable: number } | { maxUnavailable: number | string } }) {
  const made = makeCluster();
  made.cluster.addPool('general', { nodes: 2 });
  made.cluster.addDeployment({
    name: 'web',
    replicas: 4,
    cpu: 0.2,
    readyMs: 30 * second,
    terminationGracePeriodSeconds: 60,
    stopMs: 10 * second,
    ...options,
  });
  made.cluster.settle();
  const pods = () => made.cluster.list('pods').filter((pod) => pod.metadata.labels?.app === 'web');
  return { ...made, pods, first: pods()[0] as Pod };
}

describe('an eviction', () => {
  it('is answered with 201; the pod gets its grace and is made anew', async () => {
    const { cluster, api, first, pass, pods } = await workload();
    const reply = await api.evict(first);
    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Success' });
    const evicted = cluster.get('pods', `default/${first.metadata.name}`);
    // The deletionTimestamp includes the grace.
    expect(evicted?.metadata.deletionTimestamp).toBe('2026-11-29T12:01:00Z');
    expect(evicted?.metadata.deletionGracePeriodSeconds).toBe(60);
    expect(condition(evicted as Pod, 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'EvictionByEvictionAPI',
    });
    expect((await api.evict(first)).status).toBe(201);
    pass(11 * second);
    expect(cluster.get('pods', `default/${first.metadata.name}`)).toBeUndefined();
    expect(pods()).toHaveLength(4);
    expect((await api.evict(first)).status).toBe(404);
  });

  it('of a pod with another uid is a conflict, and does nothing', async () => {
    const { cluster, api, first } = await workload();
    const reply = await api.evict(first, 'another');
    expect(reply.status).toBe(409);
    expect(reply.body.reason).toBe('Conflict');
    expect(reply.body.message).toContain(
      `Precondition failed: UID in precondition: another, UID in object meta: ${first.metadata.uid}`,
    );
    expect(cluster.get('pods', `default/${first.metadata.name}`)?.metadata).not.toHaveProperty(
      'deletionTimestamp',
    );
  });

  it('that a budget forbids is 429 with the cause, until another pod is Ready', async () => {
    const { cluster, api, pods, pass } = await workload({ pdb: { maxUnavailable: 1 } });
    const budget = () => cluster.get('poddisruptionbudgets', 'default/web');
    expect(budget()?.status).toEqual({
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: 4,
      desiredHealthy: 3,
      expectedPods: 4,
    });
    const [one, two] = pods();
    expect((await api.evict(one as Pod)).status).toBe(201);
    expect(budget()?.status.disruptionsAllowed).toBe(0);
    const refused = await api.evict(two as Pod);
    expect(refused.status).toBe(429);
    expect(refused.body.reason).toBe('TooManyRequests');
    expect(refused.body.details.causes).toEqual([
      {
        reason: 'DisruptionBudget',
        message: 'The disruption budget web needs 3 healthy pods and has 4 currently',
      },
    ]);
    expect(refused.headers.get('retry-after')).toBeNull();
    pass(20 * second);
    expect((await api.evict(two as Pod)).status).toBe(429);
    pass(1 * minute);
    expect(budget()?.status.disruptionsAllowed).toBe(1);
    expect((await api.evict(two as Pod)).status).toBe(201);
  });

  it('against a budget that was not counted yet is 429 with a Retry-After', async () => {
    const { cluster, api, first } = await workload();
    cluster.addBudget({ name: 'fresh', matchLabels: { app: 'web' }, maxUnavailable: 2 });
    const reply = await api.evict(first);
    expect(reply.status).toBe(429);
    expect(reply.headers.get('retry-after')).toBe('10');
    expect(reply.body.details.causes?.[0]?.message).toContain('still being processed');
  });

  it('of a pod under several budgets is 500, even if all of them allow it', async () => {
    const { cluster, api, first, pass } = await workload({ pdb: { maxUnavailable: 1 } });
    cluster.addBudget({ name: 'second', matchLabels: { app: 'web' }, maxUnavailable: '50%' });
    pass(1 * second);
    const reply = await api.evict(first);
    expect(reply.status).toBe(500);
    expect(reply.body.message).toMatch(/^This pod has more than one PodDisruptionBudget/);
    expect(reply.body).not.toHaveProperty('reason');
  });

  it('scales percentages by the replicas that are wanted, rounded up', async () => {
    const { cluster } = build({ pdb: { maxUnavailable: '30%' } });
    expect(cluster.get('poddisruptionbudgets', 'default/web')?.status).toMatchObject({
      desiredHealthy: 2,
      disruptionsAllowed: 2,
    });
  });

  it('of a pending pod ignores its budget', async () => {
    const { cluster, api } = await workload();
    cluster.addDeployment({
      name: 'huge',
      replicas: 1,
      cpu: 100,
      pdb: { minAvailable: 1 },
    });
    cluster.settle();
    const pod = cluster.list('pods').find((entry) => entry.metadata.labels?.app === 'huge') as Pod;
    expect(pod.status.phase).toBe('Pending');
    expect((await api.evict(pod)).status).toBe(201);
    expect(cluster.get('pods', `default/${pod.metadata.name}`)).toBeUndefined();
  });

  it.each([
    ['IfHealthyBudget', 429],
    ['AlwaysAllow', 201],
  ] as const)('of an unready pod follows unhealthyPodEvictionPolicy %s', async (policy, status) => {
    const { cluster, api, pods, pass } = await workload();
    const [sick] = pods();
    cluster.setFault({ node: sick?.spec.nodeName ?? '' }, { kind: 'never-ready' });
    cluster.addBudget({
      name: 'web',
      matchLabels: { app: 'web' },
      minAvailable: 3,
      unhealthyPodEvictionPolicy: policy,
    });
    pass(30 * second);
    expect(cluster.get('poddisruptionbudgets', 'default/web')?.status).toMatchObject({
      currentHealthy: 2,
      desiredHealthy: 3,
    });
    expect((await api.evict(sick as Pod)).status).toBe(status);
  });

  it('of an unready pod is free while the healthy ones are enough', async () => {
    const { cluster, api, pods, pass } = await workload({ pdb: { minAvailable: 2 } });
    const [sick] = pods();
    cluster.setFault({ node: sick?.spec.nodeName ?? '' }, { kind: 'never-ready' });
    pass(30 * second);
    expect(cluster.get('poddisruptionbudgets', 'default/web')?.status.disruptionsAllowed ?? 0).toBe(
      0,
    );
    expect((await api.evict(sick as Pod)).status).toBe(201);
  });

  it('tried with dryRun changes nothing', async () => {
    const { cluster, api, first } = await workload({ pdb: { maxUnavailable: 1 } });
    const { name } = first.metadata;
    const reply = await api.send('POST', `/api/v1/namespaces/default/pods/${name}/eviction`, {
      metadata: { name },
      deleteOptions: { dryRun: ['All'] },
    });
    expect(reply.status).toBe(201);
    expect(cluster.get('pods', `default/${name}`)?.metadata.deletionTimestamp).toBeUndefined();
    expect(cluster.get('poddisruptionbudgets', 'default/web')?.status.disruptionsAllowed).toBe(1);
  });

  it('whose body names another pod is a bad request', async () => {
    const { api, first } = await workload();
    const path = `/api/v1/namespaces/default/pods/${first.metadata.name}/eviction`;
    expect((await api.send('POST', path, { metadata: { name: 'other' } })).status).toBe(400);
    expect((await api.send('POST', path, '{')).status).toBe(400);
  });

  it('of a StatefulSet pod brings one of the same name with another uid', async () => {
    const { cluster, api, pass } = await workload();
    cluster.addDeployment({ name: 'db', replicas: 2, statefulSet: true, cpu: 0.1 });
    pass(1 * minute);
    const before = cluster.get('pods', 'default/db-0') as Pod;
    expect(before.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'StatefulSet', name: 'db' });
    expect((await api.evict(before)).status).toBe(201);
    pass(1 * minute);
    const after = cluster.get('pods', 'default/db-0') as Pod;
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect((await api.evict(before)).status).toBe(409);
  });

  it('of a pod on a dead node is accepted, but the pod stays', async () => {
    const { cluster, api, first, pass } = await workload();
    cluster.operations.stopKubelet(first.spec.nodeName ?? '');
    expect((await api.evict(first)).status).toBe(201);
    pass(30 * minute);
    expect(cluster.get('pods', `default/${first.metadata.name}`)?.metadata.uid).toBe(
      first.metadata.uid,
    );
  });

  it('leaves the object to a finalizer that holds it', async () => {
    const { cluster, api, pass } = await workload();
    cluster.addPod({
      name: 'held',
      finalizers: ['example.com/hold'],
      terminationGracePeriodSeconds: 5,
    });
    pass(1 * minute);
    const pod = cluster.get('pods', 'default/held') as Pod;
    expect((await api.evict(pod)).status).toBe(201);
    pass(10 * minute);
    expect(cluster.get('pods', 'default/held')?.status.phase).toBe('Succeeded');
  });
});
