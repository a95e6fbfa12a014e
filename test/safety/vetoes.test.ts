import { describe, expect, it } from 'vitest';
import type { Node, NodeClaim } from '../../lib/kubernetes/objects.ts';
import { vetoOf } from '../../lib/safety/vetoes.ts';
import {
  claim,
  foreignMark,
  installation,
  mark,
  markAnnotation,
  node,
} from '../remediation/builders.ts';

const options = { installation };
const now = '2026-11-29T11:58:00Z';

function taintedBy(key: string, value?: string): Node {
  return node({
    taints: [{ key, effect: 'NoSchedule', ...(value === undefined ? {} : { value }) }],
  });
}
const oursWith = (key: string) =>
  node({
    unschedulable: true,
    annotations: markAnnotation(mark),
    taints: [{ key, effect: 'NoSchedule' }],
  });
const annotated = (key: string, value: string) => node({ annotations: { [key]: value } });
const labelled = (key: string, value: string) => node({ labels: { [key]: value } });

describe('vetoOf', () => {
  it.each<[string, Node, NodeClaim?]>([
    ['node-deleting', node({ deletionTimestamp: now })],
    ['claim-deleting', node(), claim({ deletionTimestamp: now })],
    ['karpenter-disrupted', taintedBy('karpenter.sh/disrupted')],
    ['karpenter-disrupted', taintedBy('karpenter.sh/disruption', 'disrupting')],
    ['autoscaler-deleting', taintedBy('ToBeDeletedByClusterAutoscaler', '1764417600')],
    ['skip', annotated('nodegap.dev/skip', 'true')],
    ['skip', annotated('nodegap.dev/skip', 'until the disks are copied')],
    ['skip', annotated('nodegap.dev/skip', '')],
    ['do-not-repair', annotated('karpenter.sh/do-not-repair', 'true')],
    ['do-not-repair', node(), claim({ annotations: { 'karpenter.sh/do-not-repair': 'true' } })],
    [
      'excluded-from-remediation',
      labelled('remediation.medik8s.io/exclude-from-remediation', 'true'),
    ],
    ['skip-remediation', annotated('cluster.x-k8s.io/skip-remediation', '')],
    ['unmanaged', labelled('nvsentinel.dgxc.nvidia.com/managed', 'false')],
    ['unmanaged', labelled('k8saas.nvidia.com/ManagedByNVSentinel', 'false')],
    ['human-uncordoned', node({ annotations: markAnnotation(mark) })],
    ['human-uncordoned', node({ annotations: markAnnotation({ ...mark, cordoned: false }) })],
    ['foreign-mark', node({ unschedulable: true, annotations: markAnnotation(foreignMark) })],
    ['unreadable-mark', annotated('nodegap.dev/isolation', 'cordoned')],
  ])('says %s', (code, subject, nodeClaim) => {
    const veto = vetoOf(subject, nodeClaim, options);
    expect(veto?.code).toBe(code);
    expect(veto?.message).toMatch(/^(node n1|NodeClaim general-abc)\b/);
  });

  it.each<[string, Node, NodeClaim?]>([
    ['a node as any other', node(), claim()],
    ['a node that someone else cordoned', node({ unschedulable: true })],
    ['a node that we isolated', node({ unschedulable: true, annotations: markAnnotation(mark) })],
    ['nodegap.dev/skip=false', annotated('nodegap.dev/skip', 'false')],
    ['do-not-repair=false', annotated('karpenter.sh/do-not-repair', 'false')],
    ['do-not-disrupt on the node', annotated('karpenter.sh/do-not-disrupt', 'true')],
    [
      'an exclude label other than true',
      labelled('remediation.medik8s.io/exclude-from-remediation', 'false'),
    ],
    ['a node managed by NVSentinel', labelled('nvsentinel.dgxc.nvidia.com/managed', 'true')],
    [
      'a candidate of the cluster autoscaler that nodegap has emptied',
      oursWith('DeletionCandidateOfClusterAutoscaler'),
    ],
    [
      'a node of ours that was declared dead meanwhile',
      oursWith('node.kubernetes.io/out-of-service'),
    ],
  ])('has nothing against %s', (_title, subject, nodeClaim) => {
    expect(vetoOf(subject, nodeClaim, options)).toBeUndefined();
  });

  it.each<[string, string]>([
    ['DeletionCandidateOfClusterAutoscaler', 'autoscaler-candidate'],
    ['node.kubernetes.io/out-of-service', 'out-of-service'],
    ['medik8s.io/remediation', 'medik8s-remediation'],
    ['medik8s.io/drain', 'medik8s-maintenance'],
  ])('leaves a node with the taint %s to whoever set it: %s', (key, code) => {
    expect(vetoOf(taintedBy(key), undefined, options)).toMatchObject({
      code,
      message: expect.stringContaining(`node n1 has the taint ${key}: `),
    });
  });

  it('leaves a node of ours to medik8s as well', () => {
    expect(vetoOf(oursWith('medik8s.io/remediation'), undefined, options)?.code).toBe(
      'medik8s-remediation',
    );
  });

  it('takes the word of medik8s for what it remediates', () => {
    const remediation = 'NodeHealthCheck workers (SelfNodeRemediation n1-x)';
    expect(vetoOf(node(), undefined, { ...options, remediation })).toEqual({
      code: 'medik8s-remediation',
      message: `node n1 is being remediated by ${remediation}`,
    });
  });

  it('takes over what is known from outside about a leaving node', () => {
    expect(vetoOf(node(), undefined, { ...options, leaving: 'Spot interruption' })).toEqual({
      code: 'leaving',
      message: 'node n1 is leaving: Spot interruption',
    });
  });
});
