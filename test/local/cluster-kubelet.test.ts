import { describe, expect, it } from 'vitest';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import type { Fault } from '../../local/cluster/faults.ts';
import {
  condition,
  daemonPods,
  isReady,
  makeCluster,
  minute,
  second,
  serve,
} from './cluster-helpers.ts';

const daemonSet = 'kube-system/agent';

/** Three nodes with a healthy DaemonSet, and a fault on the first node from noon on. */
function faulty(fault: Fault) {
  const { cluster, pass, clock } = makeCluster();
  cluster.addPool('general', { nodes: 3 });
  cluster.addDaemonSet({ name: 'agent', image: 'agent:v1' });
  cluster.settle();
  const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
  const target = { node, daemonSet };
  cluster.setFault(target, fault);
  const pod = (): Pod | undefined => daemonPods(cluster, 'agent').get(node);
  const eventsOf = (reason: string) =>
    cluster
      .list('events')
      .filter(
        (event) => event.reason === reason && event.involvedObject.uid === pod()?.metadata.uid,
      );
  return { cluster, pass, clock, target, pod, eventsOf };
}

function container(pod: Pod | undefined) {
  return pod?.status.containerStatuses?.[0];
}

describe('a pod that starts', () => {
  it('goes from ContainerCreating over Running to Ready in its time', () => {
    const { cluster, pass } = makeCluster({ historyMs: 0 });
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent', startMs: 10 * second, readyMs: 20 * second });
    const pod = () => cluster.list('pods')[0];
    pass(2 * second);
    expect(pod()?.status.phase).toBe('Pending');
    expect(container(pod())?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(condition(pod(), 'PodScheduled')?.status).toBe('True');
    expect(condition(pod(), 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [agent]',
    });
    pass(10 * second);
    expect(pod()?.status.phase).toBe('Running');
    expect(container(pod())).toMatchObject({ ready: false, started: true, restartCount: 0 });
    pass(22 * second);
    expect(isReady(pod())).toBe(true);
    expect(condition(pod(), 'Ready')?.lastTransitionTime).toMatch(/^2026-11-29T12:00:3\dZ$/);
  });
});

describe('a faulty pod', () => {
  it('cannot pull its image: ErrImagePull and ImagePullBackOff take turns', () => {
    const { pass, pod, eventsOf } = faulty({ kind: 'image-pull' });
    const seen: string[] = [];
    for (let passed = 0; passed < 120; passed++) {
      pass(1 * second);
      const reason = container(pod())?.state?.waiting?.reason ?? '';
      if (seen.at(-1) !== reason) seen.push(reason);
    }
    expect(seen.slice(0, 5)).toEqual([
      'ContainerCreating',
      'ErrImagePull',
      'ImagePullBackOff',
      'ErrImagePull',
      'ImagePullBackOff',
    ]);
    expect(pod()?.status.phase).toBe('Pending');
    expect(condition(pod(), 'PodReadyToStartContainers')?.status).toBe('True');
    expect(eventsOf('Failed')[0]?.message).toContain('agent:v1');
    expect(eventsOf('BackOff')[0]?.count).toBeGreaterThan(1);
  });

  it('crashes again and again: restarts count up, the last end is kept, the phase stays Running', () => {
    const { pass, pod } = faulty({ kind: 'crash-loop' });
    pass(5 * minute);
    expect(pod()?.status.phase).toBe('Running');
    expect(container(pod())?.state?.waiting?.reason).toBe('CrashLoopBackOff');
    expect(container(pod())?.lastState?.terminated).toMatchObject({ exitCode: 1, reason: 'Error' });
    expect(container(pod())?.restartCount).toBe(4);
    pass(30 * minute);
    // By now the back-off is at its five minutes.
    expect(container(pod())?.restartCount).toBeLessThanOrEqual(10);
    expect(isReady(pod())).toBe(false);
  });

  it('that got well backs off from the beginning when it falls ill again', () => {
    const { cluster, pass, pod, target } = faulty({ kind: 'crash-loop' });
    pass(20 * minute);
    cluster.clearFault(target);
    pass(6 * minute);
    expect(isReady(pod())).toBe(true);
    const before = container(pod())?.restartCount ?? 0;
    cluster.setFault(target, { kind: 'crash-loop' });
    pass(1 * minute);
    expect(container(pod())?.restartCount).toBe(before + 2);
  });

  it('is killed for its memory', () => {
    const { pass, pod } = faulty({ kind: 'oom-killed' });
    pass(5 * minute);
    expect(container(pod())?.lastState?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'OOMKilled',
    });
  });

  it('runs but never gets Ready', () => {
    const { pass, pod, eventsOf } = faulty({ kind: 'never-ready' });
    pass(5 * minute);
    expect(pod()?.status.phase).toBe('Running');
    expect(container(pod())?.state?.running).toBeDefined();
    expect(container(pod())).toMatchObject({ ready: false, started: true });
    expect(isReady(pod())).toBe(false);
    expect(eventsOf('Unhealthy')[0]?.count).toBeGreaterThan(20);
  });

  it('gets no sandbox: it stays ContainerCreating, and only the Events say why', () => {
    const { pass, pod, eventsOf } = faulty({ kind: 'sandbox' });
    pass(5 * minute);
    expect(container(pod())?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(condition(pod(), 'PodReadyToStartContainers')?.status).toBe('False');
    expect(eventsOf('FailedCreatePodSandBox')[0]?.count).toBeGreaterThan(10);
  });

  it('gets no volume', () => {
    const { pass, pod, eventsOf } = faulty({ kind: 'volume' });
    pass(5 * minute);
    expect(container(pod())?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(eventsOf('FailedMount').length).toBeGreaterThan(0);
  });

  it('lacks its ConfigMap', () => {
    const { pass, pod } = faulty({ kind: 'config-error' });
    pass(5 * minute);
    expect(container(pod())?.state?.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'configmap "agent-config" not found',
    });
  });

  it('is thrown out by the kubelet', () => {
    const { cluster, pass, target } = faulty({ kind: 'evicted' });
    const phases = new Set<string>();
    for (let passed = 0; passed < 60; passed++) {
      pass(1 * second);
      const pod = daemonPods(cluster, 'agent').get(target.node);
      if (pod?.status.phase === 'Failed') phases.add(pod.status.reason ?? '');
    }
    expect([...phases]).toEqual(['Evicted']);
  });

  it('does not touch the pods of other nodes', () => {
    const { cluster, pass, target } = faulty({ kind: 'crash-loop' });
    pass(10 * minute);
    const others = [...daemonPods(cluster, 'agent')].filter(([node]) => node !== target.node);
    expect(others).toHaveLength(2);
    expect(others.every(([, pod]) => isReady(pod))).toBe(true);
  });

  it.each<Fault['kind']>([
    'image-pull',
    'crash-loop',
    'oom-killed',
    'never-ready',
    'sandbox',
    'volume',
    'config-error',
    'evicted',
    'missing',
  ])('with %s heals at the time that was set', (kind) => {
    const healsAt = makeCluster().clock.now() + 8 * minute;
    const { pass, pod } = faulty({ kind, healsAt });
    pass(7 * minute);
    expect(isReady(pod())).toBe(false);
    // The longest back-off is five minutes.
    pass(7 * minute);
    expect(isReady(pod())).toBe(true);
  });

  it.each<Fault['kind']>(['crash-loop', 'never-ready', 'oom-killed', 'sandbox', 'image-pull'])(
    'with %s that a restart cures is well once its pod is replaced, and not before',
    async (kind) => {
      const { cluster, pass, pod } = faulty({ kind, curedByRestart: true });
      pass(20 * minute);
      expect(isReady(pod())).toBe(false);
      const api = await serve(cluster);
      const sick = pod();
      expect((await api.evict(sick as Pod)).status).toBe(201);
      pass(1 * minute);
      expect(pod()?.metadata.uid).not.toBe(sick?.metadata.uid);
      expect(isReady(pod())).toBe(true);
    },
  );

  it('never ends when it is stuck terminating, and goes when that is over', () => {
    const { cluster, pass, pod, target } = faulty({ kind: 'stuck-terminating' });
    pass(30 * minute);
    expect(pod()?.metadata.deletionTimestamp).toBe('2026-11-29T12:00:30Z');
    const stuck = pod()?.metadata.uid;
    cluster.clearFault(target);
    pass(1 * minute);
    expect(pod()?.metadata.uid).not.toBe(stuck);
    expect(isReady(pod())).toBe(true);
  });
});

describe('a fault', () => {
  it('of an image strikes every pod of that image and no other', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 3 });
    cluster.addDaemonSet({ name: 'agent', image: 'agent:v1' });
    cluster.addDaemonSet({ name: 'other', image: 'other:v1' });
    cluster.settle();
    cluster.setImageFault('agent:v1', { kind: 'image-pull' });
    pass(5 * minute);
    expect([...daemonPods(cluster, 'agent').values()].filter(isReady)).toHaveLength(0);
    expect([...daemonPods(cluster, 'other').values()].filter(isReady)).toHaveLength(3);
  });

  it('of a pool or a zone strikes the nodes there', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('one', { nodes: 2 });
    cluster.addPool('two', { nodes: 3, zones: ['eu-west-1a', 'eu-west-1b'] });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    cluster.setFault({ pool: 'two', zone: 'eu-west-1a', daemonSet }, { kind: 'never-ready' });
    pass(1 * minute);
    const sick = cluster
      .list('nodes')
      .filter((node) => !isReady(daemonPods(cluster, 'agent').get(node.metadata.name)))
      .map(({ metadata }) => [
        metadata.labels?.['karpenter.sh/nodepool'],
        metadata.labels?.['topology.kubernetes.io/zone'],
      ]);
    expect(sick).toEqual([
      ['two', 'eu-west-1a'],
      ['two', 'eu-west-1a'],
    ]);
  });

  it('that was set later wins, and clearing it brings back the earlier one', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    cluster.setFault({ pool: 'general' }, { kind: 'never-ready' });
    cluster.setFault({ daemonSet }, { kind: 'crash-loop' });
    pass(1 * minute);
    const pod = () => cluster.list('pods')[0];
    expect(container(pod())?.lastState?.terminated?.reason).toBe('Error');
    cluster.clearFault({ daemonSet });
    pass(10 * minute);
    expect(container(pod())?.state?.running).toBeDefined();
    expect(isReady(pod())).toBe(false);
  });
});
