import { describe, expect, it } from 'vitest';
import type { NodeClaim } from '../../lib/kubernetes/objects.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { daemonPods, isReady, makeCluster, minute, second, serve } from './cluster-helpers.ts';

function claimOf(cluster: SimulatedCluster, node: string): NodeClaim {
  const claim = cluster.list('nodeclaims').find(({ status }) => status.nodeName === node);
  if (claim === undefined) throw new Error(`no claim for ${node}`);
  return claim;
}

async function deleteClaim(cluster: SimulatedCluster, node: string): Promise<NodeClaim> {
  const api = await serve(cluster);
  const claim = claimOf(cluster, node);
  const path = `/apis/karpenter.sh/v1/nodeclaims/${claim.metadata.name}`;
  const reply = await api.send('DELETE', path, { preconditions: { uid: claim.metadata.uid } });
  expect(reply.status).toBe(200);
  expect(reply.body.metadata.deletionTimestamp).toBeDefined();
  return claim;
}

describe('deleting a NodeClaim', () => {
  it('taints and drains the node, ends the instance, then removes Node and NodeClaim', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 3 });
    cluster.addDaemonSet({ name: 'cni', tolerations: [{ operator: 'Exists' }] });
    cluster.addDeployment({ name: 'web', replicas: 6, cpu: 0.2 });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    const seen: string[] = [];
    cluster.onChange((happening) => {
      if ('node' in happening && happening.node === node && happening.kind !== 'pod-not-ready') {
        seen.push(happening.kind === 'node-tainted' ? happening.taint.key : happening.kind);
      }
      if (happening.kind === 'claim-removed') seen.push('claim-removed');
    });
    const claim = await deleteClaim(cluster, node);
    pass(2 * second);
    expect(cluster.get('nodes', node)?.metadata.deletionTimestamp).toBeDefined();
    expect(cluster.get('nodes', node)?.spec.taints).toContainEqual({
      key: 'karpenter.sh/disrupted',
      effect: 'NoSchedule',
    });
    expect(cluster.get('nodes', node)?.spec.unschedulable).toBeUndefined();
    pass(1 * minute);
    expect(cluster.get('nodes', node)).toBeUndefined();
    expect(cluster.get('nodeclaims', claim.metadata.name)).toBeUndefined();
    expect(cluster.instances().find((machine) => machine.node === node)?.state).toBe('terminated');
    expect(seen).toEqual([
      'node-leaving',
      'karpenter.sh/disrupted',
      'pod-evicted',
      'pod-evicted',
      'pod-removed',
      'pod-removed',
      'node-removed',
      'claim-removed',
    ]);
    // The tolerating DaemonSet pod is never evicted; it goes when the node has been gone for long.
    pass(1 * minute);
    expect(daemonPods(cluster, 'cni').has(node)).toBe(false);
    const web = cluster.list('pods').filter((pod) => pod.metadata.labels?.app === 'web');
    expect(web.filter(isReady)).toHaveLength(6);
    expect(cluster.list('nodes')).toHaveLength(2);
  });

  it('drains even an empty node for five seconds', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    await deleteClaim(cluster, node);
    const state = () => cluster.instances()[0]?.state;
    pass(4 * second);
    expect(state()).toBe('running');
    pass(2 * second);
    expect(state()).toBe('shutting-down');
    pass(1 * minute);
    expect(state()).toBe('terminated');
  });

  it('respects budgets: a blocked drain goes on once the budget allows it', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2 });
    cluster.addDeployment({
      name: 'web',
      replicas: 4,
      cpu: 0.2,
      readyMs: 60 * second,
      pdb: { maxUnavailable: 1 },
    });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    let fewest = 4;
    cluster.onChange(() => {
      const web = cluster.list('pods').filter((pod) => !pod.metadata.deletionTimestamp);
      fewest = Math.min(fewest, web.filter(isReady).length);
    });
    await deleteClaim(cluster, node);
    pass(30 * second);
    expect(cluster.podsOn(node)).toHaveLength(1);
    expect(
      cluster.list('events').some(({ reason, involvedObject }) => {
        return reason === 'FailedDraining' && involvedObject.name === node;
      }),
    ).toBe(true);
    pass(5 * minute);
    expect(cluster.get('nodes', node)).toBeUndefined();
    expect(fewest).toBe(3);
  });

  it('waits for a do-not-disrupt pod for ever', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.addPod({ name: 'job', node, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
    cluster.settle();
    await deleteClaim(cluster, node);
    pass(300 * minute);
    expect(cluster.get('nodes', node)?.metadata.deletionTimestamp).toBeDefined();
    expect(cluster.podsOn(node)).toHaveLength(1);
  });

  it('evicts DaemonSet pods that do not tolerate the taint, after the workload', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.addDaemonSet({ name: 'critical', priorityClassName: 'system-node-critical' });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.addPod({ name: 'work', node });
    pass(1 * minute);
    const evicted: string[] = [];
    cluster.onChange((happening) => {
      if (happening.kind === 'pod-evicted') evicted.push(happening.daemonSet ?? happening.pod);
    });
    await deleteClaim(cluster, node);
    pass(2 * minute);
    expect(evicted).toEqual(['work', 'kube-system/agent', 'kube-system/critical']);
    expect(cluster.get('nodes', node)).toBeUndefined();
  });

  it('ends a node that is still launching', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 0 });
    cluster.addDeployment({ name: 'web', replicas: 1 });
    pass(10 * second);
    const [claim] = cluster.list('nodeclaims');
    expect(claim?.status.providerID).toBeDefined();
    const api = await serve(cluster);
    cluster.operations.setCapacity('general', false);
    await api.send('DELETE', `/apis/karpenter.sh/v1/nodeclaims/${claim?.metadata.name}`);
    pass(2 * minute);
    expect(cluster.list('nodeclaims')).toEqual([]);
    expect(cluster.list('nodes')).toEqual([]);
    expect(cluster.instances().map(({ state }) => state)).toEqual(['terminated']);
  });

  it('gives a static pool its node back, even with nothing pending', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 3, static: true });
    cluster.settle();
    const before = cluster.nodesOf('general').map((node) => node.metadata.name);
    await deleteClaim(cluster, before[0] ?? '');
    pass(3 * minute);
    const after = cluster.nodesOf('general').map((node) => node.metadata.name);
    expect(after).toHaveLength(3);
    expect(after.filter((name) => before.includes(name))).toHaveLength(2);
  });
});

describe('provisioning', () => {
  it('brings nodes for workload that has no room, and no more than needed', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1, cpu: 2 });
    cluster.addDaemonSet({ name: 'agent', cpu: 0.2 });
    cluster.settle();
    cluster.addDeployment({ name: 'web', replicas: 10, cpu: 0.5 });
    pass(3 * minute);
    const web = cluster.list('pods').filter((pod) => pod.metadata.labels?.app === 'web');
    expect(web.every(isReady)).toBe(true);
    // Three pods of 0.5 fit beside the DaemonSet's 0.2 of 2 cores.
    expect(cluster.nodesOf('general')).toHaveLength(4);
    expect([...daemonPods(cluster, 'agent').values()].filter(isReady)).toHaveLength(4);
  });

  it('takes a new node from joining over registered to initialised', () => {
    const { cluster, pass } = makeCluster({ historyMs: 0 });
    cluster.addPool('general', { nodes: 0 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.addDeployment({ name: 'web', replicas: 1 });
    const node = () => cluster.list('nodes')[0];
    while (node() === undefined) pass(1 * second);
    const keys = () => (node()?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
    expect(keys()).toContain('karpenter.sh/unregistered:NoExecute');
    expect(keys()).toContain('node.kubernetes.io/not-ready:NoSchedule');
    expect(node()?.metadata.labels).not.toHaveProperty('karpenter.sh/registered');
    pass(4 * second);
    expect(keys()).not.toContain('karpenter.sh/unregistered:NoExecute');
    expect(node()?.metadata.labels?.['karpenter.sh/registered']).toBe('true');
    expect(node()?.metadata.labels).not.toHaveProperty('karpenter.sh/initialized');
    pass(15 * second);
    expect(keys()).toEqual([]);
    expect(node()?.metadata.labels?.['karpenter.sh/initialized']).toBe('true');
    const [claim] = cluster.list('nodeclaims');
    expect(claim?.status.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Launched=True',
      'Registered=True',
      'Initialized=True',
      'Ready=True',
    ]);
    pass(1 * minute);
    expect(cluster.list('pods').every(isReady)).toBe(true);
  });

  it('holds back initialisation until the startup taints are gone, and restores early removals', () => {
    const { cluster, pass } = makeCluster({ historyMs: 0 });
    const startup = { key: 'nodegap.dev/startup-cni', effect: 'NoSchedule' };
    cluster.addPool('general', { nodes: 0, startupTaints: [startup] });
    cluster.addDeployment({ name: 'web', replicas: 1 });
    const node = () => cluster.list('nodes')[0];
    while (node() === undefined) pass(1 * second);
    const untaint = () =>
      cluster.operations.editNode(node()?.metadata.name ?? '', ({ spec }) => {
        spec.taints = (spec.taints ?? []).filter(({ key }) => key !== startup.key);
      });
    untaint();
    pass(30 * second);
    // Taken off before registration, so Karpenter put it back.
    expect(node()?.spec.taints).toEqual([startup]);
    expect(node()?.metadata.labels).not.toHaveProperty('karpenter.sh/initialized');
    untaint();
    pass(5 * second);
    expect(node()?.metadata.labels?.['karpenter.sh/initialized']).toBe('true');
  });

  it('brings nothing for DaemonSet pods alone', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1, cpu: 1 });
    cluster.addDaemonSet({ name: 'huge', cpu: 3 });
    cluster.settle();
    pass(10 * minute);
    expect(cluster.nodesOf('general')).toHaveLength(1);
  });

  it('uses the pool and zone that the pods ask for', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 0 });
    cluster.addPool('gpu', { nodes: 0, taints: [{ key: 'gpu', effect: 'NoSchedule' }] });
    cluster.addDeployment({
      name: 'train',
      replicas: 1,
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      nodeSelector: { 'karpenter.sh/nodepool': 'gpu', 'topology.kubernetes.io/zone': 'eu-west-1b' },
    });
    pass(2 * minute);
    expect(cluster.nodesOf('general')).toEqual([]);
    const [node] = cluster.nodesOf('gpu');
    expect(node?.metadata.labels?.['topology.kubernetes.io/zone']).toBe('eu-west-1b');
    expect(cluster.list('pods').every(isReady)).toBe(true);
  });

  it('leaves pods pending while EC2 has nothing, and goes on when it has', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 0 });
    cluster.operations.setCapacity('general', false);
    cluster.addDeployment({ name: 'web', replicas: 1 });
    pass(30 * minute);
    expect(cluster.list('nodeclaims')).toEqual([]);
    cluster.operations.setCapacity('general', true);
    pass(2 * minute);
    expect(cluster.list('pods').every(isReady)).toBe(true);
  });

  it('lets a fault of the pool strike the replacement as well', async () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1, static: true });
    cluster.addDaemonSet({ name: 'agent', tolerations: [{ operator: 'Exists' }] });
    cluster.settle();
    const old = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.setFault({ pool: 'general', daemonSet: 'kube-system/agent' }, { kind: 'sandbox' });
    await deleteClaim(cluster, old);
    pass(10 * minute);
    const [fresh] = cluster.nodesOf('general');
    expect(fresh?.metadata.name).not.toBe(old);
    expect(isReady(daemonPods(cluster, 'agent').get(fresh?.metadata.name ?? ''))).toBe(false);
  });
});
