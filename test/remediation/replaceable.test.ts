import { describe, expect, it } from 'vitest';
import type { ReplacementConfig } from '../../lib/config/model.ts';
import { irreplaceable, methodFor } from '../../lib/remediation/replaceable.ts';
import type { ClaimMatch, NodeKind } from '../../lib/remediation/replacement.ts';
import { claim, node } from './builders.ts';

const config: ReplacementConfig = {
  karpenter: 'delete-nodeclaim',
  autoMode: 'defer',
  managedNodeGroup: 'terminate-instance',
  autoScalingGroup: 'notify',
  other: 'notify',
};
const found: ClaimMatch = { kind: 'found', claim: claim() };
const pool = { 'karpenter.sh/nodepool': 'general' };

describe('methodFor', () => {
  const table: [NodeKind, string][] = [
    ['karpenter', 'delete-nodeclaim'],
    ['auto-mode', 'defer'],
    ['managed-node-group', 'terminate-instance'],
    ['self-managed', 'notify'],
    ['fargate', 'notify'],
    ['hybrid', 'notify'],
    ['unknown', 'notify'],
  ];
  it.each(table)('has a node of kind %s replaced by %s', (kind, method) => {
    expect(methodFor(kind, config)).toBe(method);
  });

  it('does as the configuration says', () => {
    expect(methodFor('karpenter', { ...config, karpenter: 'notify' })).toBe('notify');
    expect(methodFor('auto-mode', { ...config, autoMode: 'delete-nodeclaim' })).toBe(
      'delete-nodeclaim',
    );
    const groups = { ...config, autoScalingGroup: 'terminate-instance' } as const;
    expect(methodFor('self-managed', groups)).toBe('terminate-instance');
  });
});

describe('irreplaceable', () => {
  it('is null for a Karpenter node with its claim', () => {
    expect(irreplaceable(node({ labels: pool }), found, config)).toBeNull();
  });

  it('is null for a node that is gone: there is nothing to keep', () => {
    expect(irreplaceable(undefined, { kind: 'none' }, config)).toBeNull();
  });

  it('names the kind that a person replaces', () => {
    const managed = node({ labels: { 'eks.amazonaws.com/nodegroup': 'blue' } });
    expect(irreplaceable(managed, { kind: 'none' }, config)).toBeNull();
    const byHand = { ...config, managedNodeGroup: 'notify' } as const;
    expect(irreplaceable(managed, { kind: 'none' }, byHand)).toEqual({
      code: 'replaced-by-person',
      message: 'nodes of kind managed-node-group are replaced by a person: the node stays isolated',
    });
  });

  it.each<[string, ClaimMatch]>([
    ['has no claim', { kind: 'none' }],
    ['cannot be matched with one', { kind: 'inconsistent', message: 'two claims' }],
  ])('says when a Karpenter node %s', (_name, match) => {
    expect(irreplaceable(node({ labels: pool }), match, config)).toMatchObject({
      code: 'no-claim',
    });
  });
});
