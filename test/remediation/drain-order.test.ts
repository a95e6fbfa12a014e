import { describe, expect, it } from 'vitest';
import type { DrainConfig } from '../../lib/config/model.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { stageOf, turnOf } from '../../lib/remediation/drain-order.ts';
import { planDrain } from '../../lib/remediation/drain-plan.ts';
import { budget, daemonSet, node, ownedBy, pod } from './builders.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const config: DrainConfig = {
  barePods: 'ask',
  emptyDir: 'evict',
  atDeadline: 'hold',
  force: { pods: [], grace: 'own' },
};
const orphanOwner = ownedBy('DaemonSet', 'ebs-csi-node');
const orphan = pod('ebs-csi-node-x', { owner: orphanOwner, namespace: 'kube-system' });

function withClass(name: string, priorityClassName: string, priority?: number): Pod {
  const made = pod(name, { namespace: 'kube-system', ...(priority ? { priority } : {}) });
  made.spec.priorityClassName = priorityClassName;
  return made;
}

const dns = withClass('coredns-1', 'system-cluster-critical', 2_000_000_000);
const mounter = withClass('mp-1', 'system-node-critical', 2_000_001_000);

/** Names of the pods whose turn it is, and of those that are held back. */
function turn(pods: Pod[], ...budgets: ReturnType<typeof budget>[]) {
  const plan = planDrain({
    node: node(),
    pods,
    daemonSets: [daemonSet('agent')],
    budgets,
    config,
    now,
  });
  const { now: first, heldBack } = turnOf(plan);
  const names = (list: typeof first) => list.map((planned) => planned.pod.name);
  return { now: names(first), heldBack: names(heldBack) };
}

function leaving(name: string, seconds: number): Pod {
  return pod(name, { deletionTimestamp: new Date(now + seconds * 1000).toISOString() });
}

describe('stageOf', () => {
  it.each<[string, Pod, boolean, string]>([
    ['a pod without a priority', pod('p'), false, 'workload'],
    ['the highest priority of a user', pod('p', { priority: 1_000_000_000 }), false, 'workload'],
    [
      'cluster-critical by number',
      pod('p', { priority: 2_000_000_000 }),
      false,
      'cluster-critical',
    ],
    [
      'cluster-critical by name',
      withClass('p', 'system-cluster-critical'),
      false,
      'cluster-critical',
    ],
    ['node-critical by number', pod('p', { priority: 2_000_001_000 }), false, 'node-local'],
    ['node-critical by name', withClass('p', 'system-node-critical'), false, 'node-local'],
    ['a daemon pod of any priority', pod('p', { priority: -10 }), true, 'node-local'],
  ])('%s is %s', (_title, subject, isDaemonPod, stage) => {
    expect(stageOf(subject, isDaemonPod)).toBe(stage);
  });
});

describe('turnOf', () => {
  it('C85: lets the pods that use volumes go before a CSI node plugin', () => {
    const db = pod('db-0', { owner: ownedBy('StatefulSet', 'db'), claims: ['data'] });
    expect(turn([orphan, db])).toEqual({ now: ['db-0'], heldBack: ['ebs-csi-node-x'] });
    expect(turn([orphan, leaving('db-0', 20)])).toEqual({ now: [], heldBack: ['ebs-csi-node-x'] });
    expect(turn([orphan])).toEqual({ now: ['ebs-csi-node-x'], heldBack: [] });
  });

  it('C85: keeps a CSI node plugin also for a pod that cannot leave', () => {
    const blocked = pod('db-0', { claims: ['data'] });
    expect(turn([orphan, blocked], budget('db')).heldBack).toEqual(['ebs-csi-node-x']);
    const asked = pod('naked', { owner: 'none', claims: ['data'] });
    expect(turn([orphan, asked]).heldBack).toEqual(['ebs-csi-node-x']);
    expect(turn([orphan, leaving('db-0', -300)]).heldBack).toEqual(['ebs-csi-node-x']);
  });

  it('lets lower priorities go first, and leaves the order within one as it is', () => {
    const pods = [
      pod('high', { priority: 1000 }),
      pod('b'),
      pod('a'),
      pod('low', { priority: -5 }),
    ];
    expect(turn(pods).now).toEqual(['low', 'b', 'a', 'high']);
  });

  it('goes from workload over cluster-critical to node-local', () => {
    expect(turn([mounter, dns, pod('web-1')])).toEqual({
      now: ['web-1'],
      heldBack: ['mp-1', 'coredns-1'],
    });
    expect(turn([mounter, dns, leaving('web-1', 20)])).toEqual({
      now: [],
      heldBack: ['mp-1', 'coredns-1'],
    });
    expect(turn([mounter, dns])).toEqual({ now: ['coredns-1'], heldBack: ['mp-1'] });
    expect(turn([mounter])).toEqual({ now: ['mp-1'], heldBack: [] });
  });

  it('does not hold cluster-critical pods for workload that is blocked or stuck', () => {
    expect(turn([dns, pod('web-1')], budget('web')).now).toEqual(['web-1', 'coredns-1']);
    expect(turn([dns, leaving('web-1', -300)]).now).toEqual(['coredns-1']);
  });

  it('never has a pod with several budgets', () => {
    expect(turn([pod('web-1')], budget('a'), budget('b'))).toEqual({ now: [], heldBack: [] });
  });
});
