import { describe, expect, it } from 'vitest';
import { condition, daemonPods, isReady, makeCluster, minute } from './cluster-helpers.ts';

describe('the scheduler', () => {
  it('spreads the pods of a workload over zones and nodes', () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 6 });
    cluster.addDeployment({ name: 'web', replicas: 12, cpu: 0.1 });
    cluster.settle();
    const perNode = cluster
      .nodesOf('general')
      .map((node) => cluster.podsOn(node.metadata.name).length);
    expect(perNode).toEqual([2, 2, 2, 2, 2, 2]);
    expect(cluster.list('pods').every(isReady)).toBe(true);
  });

  it('looks at the zones first', () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 3, zones: ['eu-west-1a', 'eu-west-1a', 'eu-west-1b'] });
    cluster.addDeployment({ name: 'web', replicas: 2, cpu: 0.1 });
    cluster.settle();
    const perNode = cluster
      .nodesOf('general')
      .map((node) => cluster.podsOn(node.metadata.name).length);
    expect(perNode).toEqual([1, 0, 1]);
  });

  it('keeps workload off cordoned and tainted nodes and off those of other labels', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2 });
    cluster.addPool('gpu', { nodes: 1, taints: [{ key: 'gpu', effect: 'NoSchedule' }] });
    cluster.addPool('ssd', { nodes: 1, labels: { disk: 'ssd' } });
    const [first, second] = cluster.nodesOf('general').map((node) => node.metadata.name);
    cluster.operations.editNode(first ?? '', ({ spec }) => {
      spec.unschedulable = true;
    });
    cluster.addDeployment({ name: 'web', replicas: 3, cpu: 0.1 });
    cluster.addDeployment({ name: 'fast', replicas: 2, cpu: 0.1, nodeSelector: { disk: 'ssd' } });
    cluster.addDeployment({
      name: 'train',
      replicas: 2,
      cpu: 0.1,
      nodeSelector: { 'karpenter.sh/nodepool': 'gpu' },
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
    });
    cluster.settle();
    pass(1 * minute);
    const nodesOf = (app: string) =>
      new Set(
        cluster
          .list('pods')
          .filter((pod) => pod.metadata.labels?.app === app)
          .map((pod) => pod.spec.nodeName),
      );
    const ssd = cluster.nodesOf('ssd')[0]?.metadata.name;
    expect(nodesOf('web').has(first)).toBe(false);
    expect([...nodesOf('web')].every((node) => node === second || node === ssd)).toBe(true);
    expect([...nodesOf('fast')]).toEqual([ssd]);
    expect([...nodesOf('train')]).toEqual([cluster.nodesOf('gpu')[0]?.metadata.name]);
  });

  it('words the refusal of a DaemonSet pod as Kubernetes 1.34 does', () => {
    const { cluster } = makeCluster({ karpenter: false });
    cluster.addPool('general', { nodes: 3, cpu: 2, managedBy: 'node-group' });
    const [first] = cluster.nodesOf('general').map((node) => node.metadata.name);
    cluster.addPod({ name: 'hog', node: first ?? '', cpu: 1.8 });
    cluster.addDaemonSet({ name: 'agent', cpu: 0.5 });
    cluster.settle();
    const pod = daemonPods(cluster, 'agent').get(first ?? '');
    expect(pod?.spec.nodeName).toBeUndefined();
    expect(pod?.status.phase).toBe('Pending');
    expect(condition(pod, 'PodScheduled')).toMatchObject({
      status: 'False',
      reason: 'Unschedulable',
      message:
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
    });
    const event = cluster.list('events').find(({ reason }) => reason === 'FailedScheduling');
    expect(event?.involvedObject.uid).toBe(pod?.metadata.uid);
  });

  it.each([
    ['pods', { maxPods: 1 }, {}, 'Too many pods'],
    ['ports', {}, { hostPort: 9100 }, "node(s) didn't have free ports for the requested pod ports"],
  ])('sees that a node has no %s left', (_what, pool, options, reason) => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 1, managedBy: 'node-group', ...pool });
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.addPod({ name: 'first', node, ...options });
    cluster.addDaemonSet({ name: 'agent', ...options });
    cluster.settle();
    const pod = daemonPods(cluster, 'agent').get(node);
    expect(condition(pod, 'PodScheduled')?.message).toContain(`1 ${reason}.`);
  });

  it('names the taint refusal without the key, for a pod that was made before the taint', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1, managedBy: 'node-group' });
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.addDeployment({ name: 'web', replicas: 1, cpu: 0.1 });
    cluster.operations.editNode(node, ({ spec }) => {
      spec.taints = [{ key: 'team', effect: 'NoSchedule' }];
    });
    cluster.settle();
    const [pod] = cluster.list('pods');
    expect(condition(pod, 'PodScheduled')?.message).toMatch(
      /^0\/1 nodes are available: 1 node\(s\) had untolerated taint\(s\)\. no new claims/,
    );
    cluster.operations.editNode(node, ({ spec }) => {
      delete spec.taints;
    });
    pass(1 * minute);
    expect(isReady(cluster.list('pods')[0])).toBe(true);
  });

  it('places a pending pod as soon as another one leaves room', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1, cpu: 1, managedBy: 'node-group' });
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.addDaemonSet({ name: 'big', cpu: 0.8 });
    cluster.settle();
    cluster.addDeployment({ name: 'web', replicas: 1, cpu: 0.5 });
    pass(1 * minute);
    const web = () => cluster.list('pods').find((pod) => pod.metadata.labels?.app === 'web');
    expect(web()?.spec.nodeName).toBeUndefined();
    cluster.setFault({ node, daemonSet: 'kube-system/big' }, { kind: 'missing' });
    pass(1 * minute);
    expect(web()?.spec.nodeName).toBe(node);
  });
});
