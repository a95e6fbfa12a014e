import { describe, expect, it } from 'vitest';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { daemonPods, isReady, makeCluster, minute, second } from './cluster-helpers.ts';

describe('the DaemonSet controller', () => {
  it('puts one Ready pod on every node, of the shape that the real one makes', () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 4 });
    cluster.addDaemonSet({ name: 'agent', priorityClassName: 'system-node-critical' });
    cluster.settle();
    const pods = daemonPods(cluster, 'agent');
    const nodes = cluster.nodesOf('general').map((node) => node.metadata.name);
    expect([...pods.keys()].sort()).toEqual(nodes.sort());
    expect([...pods.values()].every(isReady)).toBe(true);
    const [daemonSet] = cluster.list('daemonsets');
    const pod = [...pods.values()][0] as Pod;
    expect(pod.metadata.name).toMatch(/^agent-[a-z0-9]{5}$/);
    expect(pod.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        name: 'agent',
        uid: daemonSet?.metadata.uid,
        controller: true,
      },
    ]);
    expect(pod.metadata.labels?.['controller-revision-hash']).toMatch(/^[0-9a-f]{10}$/);
    expect(pod.metadata.labels?.['pod-template-generation']).toBe('1');
    expect(pod.spec.priority).toBe(2_000_001_000);
    expect(pod.spec.tolerations).toContainEqual({
      key: 'node.kubernetes.io/unschedulable',
      operator: 'Exists',
      effect: 'NoSchedule',
    });
    expect(daemonSet?.status).toEqual({
      observedGeneration: 1,
      desiredNumberScheduled: 4,
      currentNumberScheduled: 4,
      numberReady: 4,
      numberMisscheduled: 0,
      numberAvailable: 4,
      updatedNumberScheduled: 4,
    });
  });

  it('gives no node a second pod while the first one is only terminating', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent', stopMs: 20 * second });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.setFault({ node, daemonSet: 'kube-system/agent' }, { kind: 'stuck-terminating' });
    pass(10 * minute);
    expect(cluster.podsOn(node).map((pod) => pod.metadata.deletionTimestamp)).toHaveLength(1);
    cluster.clearFault({ node, daemonSet: 'kube-system/agent' });
    pass(1 * minute);
    const [pod] = cluster.podsOn(node);
    expect(pod?.metadata.deletionTimestamp).toBeUndefined();
    expect(isReady(pod)).toBe(true);
  });

  it('makes a deleted pod anew, which then is the younger one', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    const [node, before] = [...daemonPods(cluster, 'agent')][0] as [string, Pod];
    cluster.operations.deletePod(`kube-system/${before.metadata.name}`);
    pass(1 * minute);
    const after = daemonPods(cluster, 'agent').get(node);
    expect(after?.metadata.uid).not.toBe(before.metadata.uid);
    expect(after?.metadata.creationTimestamp).toMatch(/^2026-11-29T12:00:0/);
    expect(isReady(after)).toBe(true);
  });

  it('keeps pods on a node that is tainted NoSchedule, but makes no new ones there', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.operations.editNode(node, ({ spec }) => {
      spec.taints = [{ key: 'team', effect: 'NoSchedule' }];
    });
    pass(1 * minute);
    expect(isReady(daemonPods(cluster, 'agent').get(node))).toBe(true);
    expect(cluster.list('daemonsets')[0]?.status).toMatchObject({
      desiredNumberScheduled: 1,
      numberMisscheduled: 1,
    });
    // A start fault makes the running pod go; nothing comes in its place.
    cluster.setFault({ node, daemonSet: 'kube-system/agent' }, { kind: 'sandbox' });
    pass(5 * minute);
    expect(daemonPods(cluster, 'agent').has(node)).toBe(false);
  });

  it('deletes the pod of a node that lost the selected label', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2, labels: { disk: 'ssd' } });
    cluster.addDaemonSet({ name: 'agent', nodeSelector: { disk: 'ssd' } });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.operations.editNode(node, ({ metadata }) => {
      delete metadata.labels?.disk;
    });
    pass(1 * minute);
    expect(daemonPods(cluster, 'agent').has(node)).toBe(false);
    expect(daemonPods(cluster, 'agent').size).toBe(1);
  });

  it('still puts a pod on a node that is cordoned', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.operations.editNode(node, ({ spec }) => {
      spec.unschedulable = true;
    });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    pass(1 * minute);
    expect(isReady(daemonPods(cluster, 'agent').get(node))).toBe(true);
  });

  it('rolls out a new revision one node at a time', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 3 });
    cluster.addDaemonSet({ name: 'agent', image: 'agent:v1' });
    cluster.settle();
    cluster.operations.setDaemonSetImage('kube-system/agent', 'agent:v2');
    let worst = 0;
    for (let passed = 0; passed < 120; passed++) {
      pass(1 * second);
      const ready = [...daemonPods(cluster, 'agent').values()].filter(isReady).length;
      worst = Math.max(worst, 3 - ready);
    }
    expect(worst).toBe(1);
    const pods = [...daemonPods(cluster, 'agent').values()];
    expect(pods.every((pod) => pod.spec.containers?.[0]?.image === 'agent:v2')).toBe(true);
    expect(cluster.list('daemonsets')[0]?.status).toMatchObject({
      observedGeneration: 2,
      updatedNumberScheduled: 3,
      numberReady: 3,
    });
  });

  it('stops a bad rollout at maxUnavailable', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 5 });
    cluster.addDaemonSet({ name: 'agent', image: 'agent:v1', maxUnavailable: '40%' });
    cluster.settle();
    cluster.setImageFault('agent:bad', { kind: 'image-pull' });
    cluster.operations.setDaemonSetImage('kube-system/agent', 'agent:bad');
    pass(30 * minute);
    const pods = [...daemonPods(cluster, 'agent').values()];
    expect(pods.filter(isReady)).toHaveLength(3);
    expect(pods.filter((pod) => pod.spec.containers?.[0]?.image === 'agent:bad')).toHaveLength(2);
    expect(cluster.list('daemonsets')[0]?.status.numberUnavailable).toBe(2);
  });

  it('leaves pods of the old revision alone under OnDelete', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2 });
    cluster.addDaemonSet({ name: 'agent', image: 'agent:v1', updateStrategy: 'OnDelete' });
    cluster.settle();
    cluster.operations.setDaemonSetImage('kube-system/agent', 'agent:v2');
    pass(10 * minute);
    const images = [...daemonPods(cluster, 'agent').values()].map(
      (pod) => pod.spec.containers?.[0]?.image,
    );
    expect(images).toEqual(['agent:v1', 'agent:v1']);
  });

  it('replaces a failed pod again and again, ever more slowly, and says so', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    const created = new Set<string>();
    cluster.onChange((happening) => {
      if (happening.kind === 'pod-added') created.add(happening.pod);
    });
    cluster.setFault({ daemonSet: 'kube-system/agent' }, { kind: 'evicted' });
    pass(2 * minute);
    const early = created.size;
    pass(30 * minute);
    const late = created.size - early;
    expect(early).toBeGreaterThanOrEqual(4);
    expect(late).toBeLessThanOrEqual(6);
    const events = cluster.list('events').filter(({ reason }) => reason === 'FailedDaemonPod');
    expect(events[0]?.involvedObject).toMatchObject({ kind: 'DaemonSet', name: 'agent' });
  });

  it('makes no pod where the fault `missing` holds, until it is cleared', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 2 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.setFault({ node, daemonSet: 'kube-system/agent' }, { kind: 'missing' });
    pass(10 * minute);
    expect([...daemonPods(cluster, 'agent').keys()]).not.toContain(node);
    cluster.clearFault({ node, daemonSet: 'kube-system/agent' });
    pass(1 * minute);
    expect(isReady(daemonPods(cluster, 'agent').get(node))).toBe(true);
  });

  it('only records FailedCreate where the API refuses its pods', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.setFault({ daemonSet: 'kube-system/agent' }, { kind: 'create-blocked' });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    pass(10 * minute);
    expect(daemonPods(cluster, 'agent').size).toBe(0);
    const event = cluster.list('events').find(({ reason }) => reason === 'FailedCreate');
    expect(event?.message).toContain('exceeded quota');
    expect(event?.count).toBeGreaterThan(5);
  });
});
