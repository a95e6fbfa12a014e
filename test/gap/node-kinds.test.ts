import { describe, expect, it, test } from 'vitest';
import { isCounted, leftOut, poolOf, zoneOf } from '../../lib/gap/node-kinds.ts';
import type { NodeClaim } from '../../lib/kubernetes/objects.ts';
import { type NodeOptions, node, past } from './build.ts';

const taint = (key: string) => ({ taints: [{ key, effect: 'NoSchedule' }] });

describe('leftOut', () => {
  test.each<[string, NodeOptions, string | undefined]>([
    ['an ordinary node', {}, undefined],
    ['a cordoned node', { unschedulable: true }, undefined],
    ['an Auto Mode node', { labels: { 'eks.amazonaws.com/compute-type': 'auto' } }, undefined],
    [
      'a Fargate node by label',
      { labels: { 'eks.amazonaws.com/compute-type': 'fargate' } },
      'fargate',
    ],
    [
      'a Fargate node by provider id',
      { providerID: 'aws:///eu-west-1a/0f1a-77/fargate-ip-10-0-1-9.ec2.internal' },
      'fargate',
    ],
    [
      'a hybrid node by label',
      { labels: { 'eks.amazonaws.com/compute-type': 'hybrid' } },
      'hybrid',
    ],
    ['a hybrid node by provider id', { providerID: 'eks-hybrid:///eu-west-1/c/mi-1' }, 'hybrid'],
    ['a deleting node', { metadata: { deletionTimestamp: past(0) } }, 'leaving'],
    ['a node that Karpenter disrupts', taint('karpenter.sh/disrupted'), 'leaving'],
    ['a node that old Karpenter disrupts', taint('karpenter.sh/disruption'), 'leaving'],
    ['a node that the autoscaler deletes', taint('ToBeDeletedByClusterAutoscaler'), 'leaving'],
    [
      'a node that the autoscaler only considers',
      taint('DeletionCandidateOfClusterAutoscaler'),
      undefined,
    ],
  ])('of %s is %3$s', (_, options, kind) => {
    expect(leftOut(node('n1', options))?.kind).toBe(kind);
    expect(isCounted(node('n1', options))).toBe(kind === undefined);
  });

  it('is leaving when its NodeClaim is being deleted', () => {
    const claim: NodeClaim = {
      metadata: { name: 'general-x', uid: 'c', deletionTimestamp: past(0) },
      spec: {},
      status: {},
    };
    expect(leftOut(node('n1'), claim)).toEqual({
      kind: 'leaving',
      reason: 'n1 is being taken away: its NodeClaim general-x is being deleted',
      evidence: [
        {
          object: 'nodeclaim general-x',
          field: 'metadata.deletionTimestamp',
          value: past(0),
          wouldChange: 'nothing: a deletion is not taken back',
        },
      ],
    });
  });

  it.each<[string, NodeOptions, string, string]>([
    [
      'a label',
      { labels: { 'eks.amazonaws.com/compute-type': 'fargate' } },
      'metadata.labels[eks.amazonaws.com/compute-type]',
      'fargate',
    ],
    [
      'a provider id',
      { providerID: 'aws:///eu-west-1a/abc/fargate-ip-10-0-0-1' },
      'spec.providerID',
      'aws:///eu-west-1a/abc/fargate-ip-10-0-0-1',
    ],
    [
      'the provider id of a hybrid node',
      { providerID: 'eks-hybrid:///eu-west-1/prod/mi-1' },
      'spec.providerID',
      'eks-hybrid:///eu-west-1/prod/mi-1',
    ],
    [
      'its deletion',
      { metadata: { deletionTimestamp: past(0) } },
      'metadata.deletionTimestamp',
      past(0),
    ],
    [
      'a taint, by its place',
      {
        taints: [
          { key: 'dedicated', effect: 'NoSchedule' },
          { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
        ],
      },
      'spec.taints[1]',
      'karpenter.sh/disrupted:NoSchedule',
    ],
  ])('rests on %s', (_, options, field, value) => {
    expect(leftOut(node('n1', options))?.evidence).toEqual([
      { object: 'node n1', field, value, wouldChange: expect.stringMatching(/.+/) },
    ]);
  });
});

describe('pool and zone', () => {
  it('names the NodePool before the node group', () => {
    const labels = { 'eks.amazonaws.com/nodegroup': 'ng', 'karpenter.sh/nodepool': 'general' };
    expect(poolOf(node('n1', { labels }))).toBe('general');
  });

  it('names the managed or the eksctl node group', () => {
    expect(poolOf(node('n1', { labels: { 'eks.amazonaws.com/nodegroup': 'ng' } }))).toBe('ng');
    expect(poolOf(node('n1', { labels: { 'alpha.eksctl.io/nodegroup-name': 'own' } }))).toBe('own');
  });

  it('has neither pool nor zone without a label, or with an empty one', () => {
    const bare = node('n1', { labels: { 'karpenter.sh/nodepool': '' } });
    expect(poolOf(bare)).toBeUndefined();
    expect(zoneOf(bare)).toBeUndefined();
  });

  it('reads the zone', () => {
    const labels = { 'topology.kubernetes.io/zone': 'eu-west-1b' };
    expect(zoneOf(node('n1', { labels }))).toBe('eu-west-1b');
  });
});
