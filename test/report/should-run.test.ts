import { describe, expect, it } from 'vitest';
import type { DaemonSet, PodSpec } from '../../lib/kubernetes/objects.ts';
import { explainShouldRun } from '../../lib/report/should-run.ts';
import { type NodeParts, node } from '../remediation/builders.ts';

function daemonSet(spec: PodSpec): DaemonSet {
  return {
    metadata: { name: 'agent', namespace: 'kube-system', uid: 'uid-agent' },
    spec: { selector: {}, template: { spec } },
    status: {},
  };
}

function reasons(spec: PodSpec, parts: NodeParts = {}, startupTaints: string[] = []) {
  return explainShouldRun(node(parts), daemonSet(spec), startupTaints);
}

const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'arch', operator: 'In', values: ['arm64'] }] },
        { matchExpressions: [{ key: 'compute', operator: 'NotIn', values: ['fargate'] }] },
      ],
    },
  },
};

describe('explainShouldRun', () => {
  it('says when nothing restricts the DaemonSet', () => {
    expect(reasons({})).toEqual({
      should: true,
      byController: true,
      reasons: ['it has no node selector: every node is meant'],
      evidence: [
        {
          object: 'daemonset kube-system/agent',
          field: 'spec.template.spec.nodeSelector',
          value: 'absent, as are nodeName and required node affinity',
          wouldChange: 'the template gets one that the node does not match',
        },
      ],
    });
  });

  it('names the selector and the term that match', () => {
    const spec = { nodeSelector: { os: 'linux' }, affinity };
    expect(reasons(spec, { labels: { os: 'linux' } }).reasons).toEqual([
      'node selector os=linux matches',
      'node affinity term 2 of 2 matches: compute NotIn [fargate]',
    ]);
  });

  it('names the selector that does not match', () => {
    const { should, reasons: why } = reasons({ nodeSelector: { os: 'windows' } });
    expect(should).toBe(false);
    expect(why).toEqual([expect.stringContaining('os=windows')]);
  });

  it('names a taint that keeps it out', () => {
    const { should, reasons: why } = reasons(
      {},
      { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] },
    );
    expect(should).toBe(false);
    expect(why[0]).toContain('dedicated=gpu:NoSchedule');
  });

  it('names each taint with the toleration that covers it', () => {
    const taints = [
      { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
      { key: 'soft', effect: 'PreferNoSchedule' },
    ];
    const tolerate = (toleration: object) =>
      reasons({ tolerations: [toleration] }, { taints }).reasons.slice(1);
    expect(tolerate({ operator: 'Exists' })).toEqual([
      'it tolerates taint dedicated=gpu:NoSchedule (every taint)',
    ]);
    expect(tolerate({ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' })).toEqual([
      'it tolerates taint dedicated=gpu:NoSchedule (dedicated exists, NoSchedule)',
    ]);
    expect(tolerate({ key: 'dedicated', value: 'gpu' })).toEqual([
      'it tolerates taint dedicated=gpu:NoSchedule (dedicated=gpu)',
    ]);
  });

  it.each<[string, string, RegExp]>([
    ['a condition', 'node.kubernetes.io/not-ready', /mirrors the state/],
    ['nodegap itself', 'nodegap.dev/daemonset-gap', /nodegap's own taint/],
    ['startup', 'agent/not-ready', /startup taint: agent\/not-ready:NoSchedule/],
  ])('looks past a taint of %s and says so', (_what, key, expected) => {
    const taints = [{ key, effect: 'NoSchedule' }];
    const { should, reasons: why } = reasons({}, { taints }, ['agent/not-ready']);
    expect(should).toBe(true);
    expect(why.join('\n')).toMatch(expected);
    expect(why.at(-1)).toContain('may not start there now');
  });
});
