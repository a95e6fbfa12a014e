import { describe, expect, it, test } from 'vitest';
import { intentEligibility } from '../../lib/gap/eligibility.ts';
import type { Taint, Toleration } from '../../lib/kubernetes/objects.ts';
import { daemonSet, node } from './build.ts';

function intent(taints: Taint[], tolerations: Toleration[] = [], startupTaints: string[] = []) {
  const verdict = intentEligibility(
    node('n1', { taints }),
    daemonSet('agent', { template: { tolerations } }),
    startupTaints,
  );
  return verdict.kind === 'eligible'
    ? verdict.lookedPast.map(({ taint, kind }) => `${kind} ${taint.key}`)
    : verdict.reason;
}

const noSchedule = (key: string): Taint => ({ key, effect: 'NoSchedule' });
const noExecute = (key: string): Taint => ({ key, effect: 'NoExecute' });
const everything: Toleration[] = [{ operator: 'Exists' }];

describe('intent eligibility', () => {
  test.each([
    'node.kubernetes.io/not-ready',
    'node.kubernetes.io/unreachable',
    'node.kubernetes.io/network-unavailable',
  ])('looks past %s:NoSchedule, which mirrors the state of the node', (key) => {
    expect(intent([noSchedule(key)])).toEqual([`condition ${key}`]);
  });

  test.each([
    'node.kubernetes.io/unschedulable',
    'node.kubernetes.io/disk-pressure',
    'node.kubernetes.io/memory-pressure',
    'node.kubernetes.io/pid-pressure',
  ])('has nothing to look past in %s:NoSchedule, which every DaemonSet tolerates', (key) => {
    expect(intent([noSchedule(key)])).toEqual([]);
  });

  it("looks past nodegap's own taints", () => {
    expect(intent([noSchedule('nodegap.dev/daemonset-gap')])).toEqual([
      'own nodegap.dev/daemonset-gap',
    ]);
    expect(intent([noSchedule('nodegap.dev/condition-kernel')])).toEqual([
      'own nodegap.dev/condition-kernel',
    ]);
  });

  it('looks past known start-up taints only', () => {
    const taint = noExecute('node.cilium.io/agent-not-ready');
    expect(intent([taint])).toBe(
      'it does not tolerate taint node.cilium.io/agent-not-ready:NoExecute',
    );
    expect(intent([taint], [], [taint.key])).toEqual(['startup node.cilium.io/agent-not-ready']);
    expect(intent([noSchedule('nodegap.dev/startup-cni')])).toEqual([
      'startup nodegap.dev/startup-cni',
    ]);
  });

  it('reports a node that is being initialised even when the taint is tolerated', () => {
    expect(intent([noExecute('karpenter.sh/unregistered')], everything)).toEqual([
      'initialising karpenter.sh/unregistered',
    ]);
    expect(
      intent([noSchedule('node.cloudprovider.kubernetes.io/uninitialized')], everything),
    ).toEqual(['initialising node.cloudprovider.kubernetes.io/uninitialized']);
  });

  it('reports no other taint that is tolerated', () => {
    expect(intent([noSchedule('nodegap.dev/daemonset-gap'), noSchedule('a')], everything)).toEqual(
      [],
    );
  });

  it('is not eligible behind an ordinary taint, whatever else is looked past', () => {
    expect(intent([noSchedule('nodegap.dev/daemonset-gap'), noSchedule('dedicated')])).toBe(
      'it does not tolerate taint dedicated:NoSchedule',
    );
  });

  it('ignores PreferNoSchedule', () => {
    expect(intent([{ key: 'a', effect: 'PreferNoSchedule' }])).toEqual([]);
  });

  it('is not eligible where the selectors do not match', () => {
    const verdict = intentEligibility(
      node('n1'),
      daemonSet('agent', { template: { nodeSelector: { gpu: 'yes' } } }),
      [],
    );
    expect(verdict).toEqual({
      kind: 'not-eligible',
      reason: 'nodeSelector wants gpu=yes and the node has no label gpu',
    });
  });
});
