import { describe, expect, it } from 'vitest';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { makeCluster, minute, noon, second } from './cluster-helpers.ts';

/** A cluster with something of everything going on from noon on. */
function busy(seed: number) {
  const made = makeCluster({ seed });
  const { cluster } = made;
  cluster.addPool('general', { nodes: 4, cpu: 2 });
  cluster.addDaemonSet({ name: 'agent', image: 'agent:v1' });
  cluster.addDeployment({ name: 'web', replicas: 6, cpu: 0.5, pdb: { maxUnavailable: 1 } });
  cluster.settle();
  const [first, second] = cluster.nodesOf('general').map((node) => node.metadata.name);
  cluster.setFault({ node: first ?? '' }, { kind: 'crash-loop', healsAt: noon + 9 * minute });
  cluster.operations.stopKubelet(second ?? '');
  cluster.operations.setDaemonSetImage('kube-system/agent', 'agent:v2');
  cluster.addDeployment({ name: 'more', replicas: 9, cpu: 0.5 });
  return made;
}

function everything(cluster: SimulatedCluster): string {
  return JSON.stringify([
    cluster.list('nodes'),
    cluster.list('pods'),
    cluster.list('nodeclaims'),
    cluster.list('daemonsets'),
    cluster.list('poddisruptionbudgets'),
    cluster.list('events'),
    cluster.instances(),
  ]);
}

describe('the simulated cluster', () => {
  it('is the same again for the same seed, and another one for another seed', () => {
    const states = [7, 7, 8].map((seed) => {
      const { cluster, pass } = busy(seed);
      pass(30 * minute);
      return everything(cluster);
    });
    expect(states[1]).toBe(states[0]);
    expect(states[2]).not.toBe(states[0]);
  });

  it('does not depend on how often it is asked', () => {
    const leap = busy(3);
    const steps = busy(3);
    leap.pass(20 * minute);
    for (let passed = 0; passed < 20 * minute; passed += 0.7 * second) {
      steps.clock.ms = noon + passed;
      steps.cluster.advanceTo(steps.clock.ms);
    }
    steps.cluster.advanceTo(noon + 20 * minute);
    expect(everything(steps.cluster)).toBe(everything(leap.cluster));
  });

  it('stands at the present of the clock once it is settled, with a day behind it', () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    expect(cluster.settle()).toBe(noon);
    expect(cluster.nodesOf('general')[0]?.metadata.creationTimestamp).toBe('2026-11-28T12:00:00Z');
  });

  it('runs ahead of the clock when it has no history, and says how far', () => {
    const { cluster } = makeCluster({ historyMs: 0 });
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent', readyMs: 90 * second });
    const reached = cluster.settle();
    expect(reached).toBeGreaterThan(noon + 90 * second);
    expect(cluster.now).toBe(reached);
    expect(cluster.nextAt()).toBeGreaterThanOrEqual(reached);
  });

  it('settles although pods fail for ever', () => {
    const { cluster } = makeCluster({ historyMs: 0 });
    cluster.addPool('general', { nodes: 3 });
    for (const [name, kind] of [
      ['a', 'crash-loop'],
      ['b', 'never-ready'],
      ['c', 'sandbox'],
      ['d', 'image-pull'],
      ['e', 'evicted'],
      ['f', 'create-blocked'],
    ] as const) {
      cluster.setFault({ daemonSet: `kube-system/${name}` }, { kind });
      cluster.addDaemonSet({ name });
    }
    cluster.addDeployment({ name: 'huge', replicas: 2, cpu: 99 });
    expect(cluster.settle()).toBeLessThan(noon + 20 * minute);
  });

  it('gives away copies only', () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.settle();
    const [node] = cluster.nodesOf('general');
    if (node !== undefined) node.spec.unschedulable = true;
    expect(cluster.nodesOf('general')[0]?.spec).not.toHaveProperty('unschedulable');
  });
});

describe('the happenings', () => {
  it('tell a cordon, a taint, a failing and a healing pod, and nothing of heartbeats', () => {
    const { cluster, pass } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.addDaemonSet({ name: 'agent' });
    cluster.settle();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    const told: string[] = [];
    cluster.onChange((happening) => {
      const detail =
        'taint' in happening ? happening.taint.key : 'reason' in happening ? happening.reason : '';
      told.push(`${happening.kind} ${detail}`.trim());
    });
    pass(30 * minute);
    expect(told).toEqual([]);
    cluster.operations.editNode(node, ({ spec }) => {
      spec.unschedulable = true;
    });
    pass(10 * second);
    cluster.operations.editNode(node, ({ spec }) => {
      delete spec.unschedulable;
    });
    pass(10 * second);
    expect(told).toEqual([
      'node-cordoned',
      'node-tainted node.kubernetes.io/unschedulable',
      'node-uncordoned',
      'node-untainted node.kubernetes.io/unschedulable',
    ]);
    told.length = 0;
    cluster.setFault(
      { node, daemonSet: 'kube-system/agent' },
      { kind: 'crash-loop', healsAt: cluster.now + 30 * second },
    );
    pass(2 * minute);
    expect(told.slice(0, 2)).toEqual(['pod-not-ready', 'pod-failing CrashLoopBackOff']);
    expect(told.at(-1)).toBe('pod-ready');
  });
});
