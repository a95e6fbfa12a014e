import { describe, expect, it } from 'vitest';
import { daemonPods, isReady, makeCluster, minute, second } from './cluster-helpers.ts';

function taintsOf(cluster: ReturnType<typeof makeCluster>['cluster'], node: string) {
  return (cluster.get('nodes', node)?.spec.taints ?? []).map(
    ({ key, effect }) => `${key}:${effect}`,
  );
}

function oneNode() {
  const made = makeCluster();
  made.cluster.addPool('general', { nodes: 1 });
  made.cluster.addDaemonSet({ name: 'agent' });
  made.cluster.settle();
  return { ...made, node: made.cluster.nodesOf('general')[0]?.metadata.name ?? '' };
}

describe('a node', () => {
  it('reports every five minutes, which moves its resourceVersion and nothing else', () => {
    const { cluster, pass, node } = oneNode();
    const before = cluster.get('nodes', node);
    pass(5 * minute);
    const after = cluster.get('nodes', node);
    expect(after?.metadata.resourceVersion).not.toBe(before?.metadata.resourceVersion);
    expect(after?.spec).toEqual(before?.spec);
    const ready = (entry: typeof before) =>
      entry?.status.conditions?.find(({ type }) => type === 'Ready');
    expect(ready(after)?.lastTransitionTime).toBe(ready(before)?.lastTransitionTime);
    expect(ready(after)?.lastHeartbeatTime).not.toBe(ready(before)?.lastHeartbeatTime);
  });

  it('has the labels and names that EKS and Karpenter give', () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 4 });
    cluster.addPool('group', { nodes: 1, managedBy: 'node-group' });
    const nodes = cluster.nodesOf('general');
    expect(nodes.map(({ metadata }) => metadata.labels?.['topology.kubernetes.io/zone'])).toEqual([
      'eu-west-1a',
      'eu-west-1b',
      'eu-west-1c',
      'eu-west-1a',
    ]);
    for (const { metadata, spec } of nodes) {
      expect(spec.providerID).toMatch(/^aws:\/\/\/eu-west-1[abc]\/i-0[0-9a-f]{16}$/);
      expect(metadata.finalizers).toEqual(['karpenter.sh/termination']);
      const claims = cluster
        .list('nodeclaims')
        .filter(({ status }) => status.providerID === spec.providerID);
      expect(claims).toHaveLength(1);
      expect(claims[0]?.status.nodeName).toBe(metadata.name);
      expect(metadata.ownerReferences?.[0]?.uid).toBe(claims[0]?.metadata.uid);
    }
    const [managed] = cluster.nodesOf('group');
    expect(managed?.metadata.labels?.['eks.amazonaws.com/nodegroup']).toBe('group');
    expect(managed?.metadata.finalizers).toBeUndefined();
  });

  it.each([
    ['eu-west-1a', /^ip-10-0-\d+-\d+\.eu-west-1\.compute\.internal$/],
    ['us-east-1a', /^ip-10-0-\d+-\d+\.ec2\.internal$/],
  ])('in %s has the name that EC2 gives there', (zone, name) => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 1, zones: [zone] });
    expect(cluster.nodesOf('general')[0]?.metadata.name).toMatch(name);
  });

  it('is tainted unschedulable soon after a cordon, and no longer after an uncordon', () => {
    const { cluster, pass, node } = oneNode();
    const cordon = (unschedulable: boolean) =>
      cluster.operations.editNode(node, ({ spec }) => {
        if (unschedulable) spec.unschedulable = true;
        else delete spec.unschedulable;
      });
    cordon(true);
    expect(taintsOf(cluster, node)).toEqual([]);
    pass(1 * second);
    expect(taintsOf(cluster, node)).toEqual(['node.kubernetes.io/unschedulable:NoSchedule']);
    cordon(false);
    pass(1 * second);
    expect(taintsOf(cluster, node)).toEqual([]);
    expect(cluster.get('nodes', node)?.spec).not.toHaveProperty('taints');
  });

  it('becomes Unknown when its kubelet falls silent: tainted, its pods unready but still there', () => {
    const { cluster, pass, node } = oneNode();
    cluster.operations.stopKubelet(node);
    pass(40 * second);
    expect(taintsOf(cluster, node)).toEqual([]);
    pass(20 * second);
    expect(cluster.get('nodes', node)?.status.conditions?.at(-1)).toMatchObject({
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
    });
    expect(taintsOf(cluster, node)).toEqual([
      'node.kubernetes.io/unreachable:NoSchedule',
      'node.kubernetes.io/unreachable:NoExecute',
    ]);
    const pod = daemonPods(cluster, 'agent').get(node);
    expect(isReady(pod)).toBe(false);
    expect(pod?.status.phase).toBe('Running');
    expect(pod?.status.containerStatuses?.[0]?.ready).toBe(true);
    pass(60 * minute);
    expect(daemonPods(cluster, 'agent').get(node)?.metadata.uid).toBe(pod?.metadata.uid);
    cluster.operations.startKubelet(node);
    pass(5 * second);
    expect(taintsOf(cluster, node)).toEqual([]);
    expect(isReady(daemonPods(cluster, 'agent').get(node))).toBe(true);
  });

  it('carries the taint of a pressure condition while that is True', () => {
    const { cluster, pass, node } = oneNode();
    cluster.operations.setNodeCondition(node, { type: 'DiskPressure', status: 'True' });
    pass(1 * second);
    expect(taintsOf(cluster, node)).toEqual(['node.kubernetes.io/disk-pressure:NoSchedule']);
    cluster.operations.setNodeCondition(node, { type: 'DiskPressure', status: 'False' });
    pass(1 * second);
    expect(taintsOf(cluster, node)).toEqual([]);
  });

  it('leaves its pods to the garbage collector when it vanishes', () => {
    const { cluster, pass, node } = oneNode();
    cluster.operations.removeNode(node);
    pass(30 * second);
    expect(cluster.podsOn(node)).toHaveLength(1);
    pass(15 * second);
    expect(cluster.podsOn(node)).toHaveLength(0);
  });
});

describe('a NoExecute taint', () => {
  it('drives out workload past its budget, after the tolerated seconds', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1, managedBy: 'node-group' });
    cluster.addDeployment({ name: 'now', replicas: 2, pdb: { minAvailable: 2 } });
    cluster.addDeployment({
      name: 'later',
      replicas: 1,
      tolerations: [
        { key: 'out', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 120 },
      ],
    });
    cluster.addDeployment({ name: 'never', replicas: 1, tolerations: [{ operator: 'Exists' }] });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    const first = new Set(cluster.podsOn(node).map((pod) => pod.metadata.uid));
    const left = () =>
      cluster
        .podsOn(node)
        .filter((pod) => first.has(pod.metadata.uid))
        .map((pod) => pod.metadata.labels?.app);
    cluster.operations.editNode(node, ({ spec }) => {
      spec.taints = [{ key: 'out', effect: 'NoExecute' }];
    });
    pass(30 * second);
    expect(left()).toEqual(['later', 'never']);
    pass(120 * second);
    expect(left()).toEqual(['never']);
  });

  it('that goes away in time drives out nobody', () => {
    const { cluster, pass, node } = oneNode();
    cluster.addDeployment({ name: 'web', replicas: 1 });
    pass(1 * minute);
    const web = () => cluster.list('pods').find((pod) => pod.metadata.labels?.app === 'web');
    const before = web()?.metadata.uid;
    cluster.operations.stopKubelet(node);
    pass(4 * minute);
    cluster.operations.startKubelet(node);
    pass(20 * minute);
    expect(web()?.metadata.uid).toBe(before);
    expect(isReady(web())).toBe(true);
  });
});
