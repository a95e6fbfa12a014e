import { AppsV1Api, CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isKubernetesError } from '../../lib/errors.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import { daemonPods, makeCluster, minute, second } from './cluster-helpers.ts';

async function connected() {
  const made = makeCluster();
  made.cluster.addPool('general', { nodes: 5 });
  made.cluster.addDaemonSet({ name: 'agent', tolerations: [{ operator: 'Exists' }] });
  made.cluster.addDeployment({ name: 'web', replicas: 6, cpu: 0.2, pdb: { maxUnavailable: 1 } });
  made.cluster.settle();
  const served = await made.cluster.serve();
  onTestFinished(() => served.close());
  const transport = createTransport({ server: served.url });
  onTestFinished(() => transport.close());
  const patience = { limit: 2, sleep: async () => {} };
  return {
    ...made,
    served,
    reader: createReader(transport, patience),
    writer: createWriter(transport, made.clock),
  };
}

describe("the project's reader", () => {
  it('reads everything there is, page by page', async () => {
    const { cluster, reader } = await connected();
    expect((await reader.listNodes()).map(({ metadata }) => metadata.uid)).toEqual(
      cluster.list('nodes').map(({ metadata }) => metadata.uid),
    );
    expect((await reader.listDaemonSets()).map(({ status }) => status.numberReady)).toEqual([5]);
    expect(await reader.listDaemonSetPods()).toHaveLength(5);
    expect(await reader.listPodDisruptionBudgets()).toHaveLength(1);
    expect(await reader.listNodeClaims()).toHaveLength(5);
    const [node] = cluster.nodesOf('general');
    const onNode = await reader.listPodsOnNode(node?.metadata.name ?? '');
    expect(onNode).toHaveLength(cluster.podsOn(node?.metadata.name ?? '').length);
    expect(await reader.getNode('none')).toBeUndefined();
  });

  it('starts a list again when it expires in the middle', async () => {
    const { cluster, reader } = await connected();
    let expirations = 1;
    cluster.onRequest(({ query }) =>
      query.has('continue') && expirations-- > 0 ? { kind: 'refuse', status: 410 } : undefined,
    );
    const names = (await reader.listNodes()).map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(5);
    expect(new Set(names).size).toBe(5);
  });

  it('finds the events and the pending pod of a gap', async () => {
    const { cluster, reader, pass } = await connected();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.setFault({ node, daemonSet: 'kube-system/agent' }, { kind: 'sandbox' });
    pass(5 * minute);
    const pod = daemonPods(cluster, 'agent').get(node) as Pod;
    const events = await reader.listEventsOf(pod.metadata.uid);
    expect(events.map(({ reason }) => reason)).toEqual(['FailedCreatePodSandBox']);
    expect(await reader.getPod('kube-system', pod.metadata.name)).toMatchObject({
      spec: { nodeName: node },
    });
  });
});

describe("the project's writer", () => {
  it('isolates, evicts within the budget, deletes the claim, and the node goes', async () => {
    const { cluster, reader, writer, pass } = await connected();
    const [node] = cluster.nodesOf('general');
    const { name, uid } = node?.metadata ?? { name: '', uid: '' };
    const patched = await writer.patchNode(name, [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'test', path: '/spec/taints', value: null },
      { op: 'add', path: '/spec/unschedulable', value: true },
    ]);
    expect(patched.spec.unschedulable).toBe(true);
    const stale = writer.patchNode(name, [{ op: 'test', path: '/metadata/uid', value: 'other' }]);
    await expect(stale).rejects.toSatisfy((error) => isKubernetesError(error, 'conflict'));
    const web = (await reader.listPodsOnNode(name)).filter(
      (pod) => pod.metadata.labels?.app === 'web',
    );
    const others = cluster
      .list('pods')
      .filter((pod) => pod.metadata.labels?.app === 'web' && pod.spec.nodeName !== name);
    const refOf = ({ metadata }: Pod) => ({
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid,
    });
    const victim = refOf(web[0] as Pod);
    expect(await writer.evictPod(victim)).toEqual({ kind: 'accepted' });
    expect(await writer.evictPod(refOf(others[0] as Pod))).toMatchObject({
      kind: 'blocked-by-budget',
    });
    pass(30 * second);
    expect(await writer.evictPod(victim)).toEqual({ kind: 'gone' });
    const [claim] = cluster.list('nodeclaims').filter(({ status }) => status.nodeName === name);
    expect(await writer.deleteNodeClaim(claim?.metadata.name ?? '', 'other')).toBe(false);
    expect(
      await writer.deleteNodeClaim(claim?.metadata.name ?? '', claim?.metadata.uid ?? ''),
    ).toBe(true);
    pass(2 * minute);
    expect(await reader.getNode(name)).toBeUndefined();
    expect(await reader.getNodeClaim(claim?.metadata.name ?? '')).toBeUndefined();
  });

  it('leaves one Event for one thing said twice', async () => {
    const { cluster, writer, clock } = await connected();
    const [node] = cluster.nodesOf('general');
    const event = {
      node: node?.metadata.name ?? '',
      nodeUid: node?.metadata.uid ?? '',
      type: 'Normal',
      reason: 'NodegapReleased',
      message: 'released',
    } as const;
    await writer.createNodeEvent(event);
    clock.ms += 5 * second;
    await writer.createNodeEvent(event);
    const events = cluster.list('events').filter(({ reason }) => reason === event.reason);
    expect(events).toHaveLength(1);
    expect(Date.parse(events[0]?.lastTimestamp ?? '')).toBe(clock.ms);
  });
});

describe('client-node with the served kubeconfig', () => {
  it('talks to the cluster', async () => {
    const { served } = await connected();
    const config = new KubeConfig();
    config.loadFromOptions(served.kubeconfig);
    const nodes = await config.makeApiClient(CoreV1Api).listNode({ limit: 2 });
    expect(nodes.items).toHaveLength(2);
    expect(nodes.metadata?._continue).toBeDefined();
    const daemonSets = await config.makeApiClient(AppsV1Api).listDaemonSetForAllNamespaces();
    expect(daemonSets.items[0]?.status?.numberReady).toBe(5);
    const claims = await config
      .makeApiClient(CustomObjectsApi)
      .listClusterCustomObject({ group: 'karpenter.sh', version: 'v1', plural: 'nodeclaims' });
    expect((claims as { items: unknown[] }).items).toHaveLength(5);
  });

  it('sends the token of the identity that it was made for', async () => {
    const { cluster } = makeCluster();
    const identities = [
      { name: 'reader', token: 'r' },
      { name: 'actuator', token: 'a' },
    ];
    const seen: (string | undefined)[] = [];
    cluster.onRequest(({ identity }) => {
      seen.push(identity);
      return undefined;
    });
    const served = await cluster.serve({ identities });
    onTestFinished(() => served.close());
    for (const options of [served.kubeconfig, served.kubeconfigFor('actuator')]) {
      const config = new KubeConfig();
      config.loadFromOptions(options);
      await config.makeApiClient(CoreV1Api).listNode();
    }
    expect(seen).toEqual(['reader', 'actuator']);
    expect(() => served.kubeconfigFor('nobody')).toThrow('there is no identity "nobody"');
  });
});
