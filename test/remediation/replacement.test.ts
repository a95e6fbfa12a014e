import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import type { NodeClaim } from '../../lib/kubernetes/objects.ts';
import {
  claimOf,
  deleteClaim,
  instanceOf,
  type NodeKind,
  nodeKindOf,
} from '../../lib/remediation/replacement.ts';
import { claim, type NodeParts, node } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';

const instance = 'i-0123456789abcdef0';

describe('instanceOf', () => {
  it.each([
    ['aws:///eu-west-1a/i-0123456789abcdef0', instance, 'eu-west-1a'],
    ['aws:///us-east-1a/i-0a1b2c3d', 'i-0a1b2c3d', 'us-east-1a'],
    // R36: local zones have more dashes.
    ['aws:///us-west-2-lax-1a/i-0123456789abcdef0', instance, 'us-west-2-lax-1a'],
  ])('reads %s', (providerID, instanceId, zone) => {
    expect(instanceOf(providerID)).toEqual({ instanceId, zone });
  });

  it.each([
    ['R34: Fargate', 'aws:///us-west-2d/1-2/fargate-ip-10-0-0-1.x'],
    ['R35: hybrid', 'eks-hybrid:///us-west-2/c/mi-0ab'],
    ['kwok', 'kwok://general-abc'],
    ['another length', 'aws:///eu-west-1a/i-0123456789'],
    ['a suffix', 'aws:///eu-west-1a/i-0123456789abcdef0/x'],
    ['another cloud', 'gce:///eu-west-1a/i-0123456789abcdef0'],
    ['empty', ''],
    ['absent', undefined],
  ])('finds no instance in %s', (_title, providerID) => {
    expect(instanceOf(providerID)).toBeUndefined();
  });
});

describe('nodeKindOf', () => {
  const compute = (type: string) => ({ 'eks.amazonaws.com/compute-type': type });
  const pool = { 'karpenter.sh/nodepool': 'general' };
  const withGroup = (group: string): NodeClaim => ({
    ...claim(),
    spec: { nodeClassRef: { group, kind: 'X', name: 'default' } },
  });

  it.each<[NodeKind, string, NodeParts, NodeClaim?]>([
    ['karpenter', 'with its claim', { labels: pool }, claim()],
    ['karpenter', 'by its label alone', { labels: pool }],
    [
      'karpenter',
      'of the kwok provider',
      { labels: pool, providerID: 'kwok://general-abc' },
      withGroup('karpenter.kwok.sh'),
    ],
    ['auto-mode', 'by label', { labels: { ...pool, ...compute('auto') } }],
    ['auto-mode', 'by its claim', { labels: pool }, withGroup('eks.amazonaws.com')],
    ['managed-node-group', 'by label', { labels: { 'eks.amazonaws.com/nodegroup': 'blue' } }],
    ['self-managed', 'with an instance', {}],
    [
      'fargate',
      'by label',
      { labels: compute('fargate'), providerID: 'aws:///us-west-2d/1-2/fargate-ip-10-0-0-1.x' },
    ],
    ['fargate', 'by providerID', { providerID: 'aws:///us-west-2d/1-2/fargate-ip-10-0-0-1.x' }],
    ['hybrid', 'by label', { labels: compute('hybrid'), providerID: '' }],
    ['hybrid', 'by providerID', { providerID: 'eks-hybrid:///us-west-2/c/mi-0ab' }],
    ['unknown', 'without a providerID', { providerID: '' }],
    ['unknown', 'of another cloud', { providerID: 'gce:///zone/instance' }],
  ])('says %s %s', (kind, _title, parts, nodeClaim) => {
    expect(nodeKindOf(node(parts), nodeClaim)).toBe(kind);
  });
});

describe('claimOf', () => {
  it('finds the one claim with the providerID of the node', () => {
    const other = claim({ name: 'other', uid: 'uid-other', providerID: 'aws:///eu-west-1a/i-1' });
    expect(claimOf(node(), [other, claim()])).toEqual({ kind: 'found', claim: claim() });
  });

  it('finds a claim whose node name is not set yet', () => {
    expect(claimOf(node(), [claim({ nodeName: '' })]).kind).toBe('found');
  });

  it('finds none for another providerID', () => {
    expect(claimOf(node({ providerID: 'kwok://n1' }), [claim()])).toEqual({ kind: 'none' });
  });

  it('R38: never matches an empty providerID', () => {
    const parts = node({ providerID: '' });
    expect(claimOf(parts, [claim({ providerID: '' })])).toEqual({ kind: 'none' });
    delete parts.spec.providerID;
    expect(claimOf(parts, [claim({ providerID: '' })])).toEqual({ kind: 'none' });
  });

  it('R37: refuses two claims with one providerID', () => {
    const claims = [claim({ name: 'b' }), claim({ name: 'a', uid: 'uid-a' })];
    expect(claimOf(node(), claims)).toEqual({
      kind: 'inconsistent',
      message: expect.stringContaining('NodeClaims a and b both'),
    });
  });

  it('refuses a claim that names another node', () => {
    expect(claimOf(node(), [claim({ nodeName: 'n2' })])).toMatchObject({
      kind: 'inconsistent',
      message: expect.stringContaining('names node n2'),
    });
  });

  it('refuses a claim that does not own the node', () => {
    const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'x', uid: 'uid-x' };
    expect(claimOf(node({ ownerReferences: [owner] }), [claim()])).toMatchObject({
      kind: 'inconsistent',
      message: expect.stringContaining('uid-x'),
    });
    const own = { ...owner, uid: 'uid-claim' };
    expect(claimOf(node({ ownerReferences: [own] }), [claim()]).kind).toBe('found');
  });
});

describe('deleteClaim', () => {
  function cluster(): FakeCluster {
    const fake = new FakeCluster();
    fake.nodes = [node()];
    fake.claims = [claim()];
    return fake;
  }
  const options = { node: node(), claim: claim() };
  const deletions = (fake: FakeCluster) => fake.calls.filter((call) => call.startsWith('delete'));
  const named = { claim: 'general-abc', uid: 'uid-claim' };

  it('deletes the claim, and neither node nor anything else', async () => {
    const fake = cluster();
    expect(await deleteClaim(fake, options)).toEqual({
      kind: 'requested',
      ...named,
      already: false,
    });
    expect(fake.claims[0]?.metadata.deletionTimestamp).toBeDefined();
    expect(fake.calls).toEqual(['getNodeClaim', 'getNode', 'deleteNodeClaim general-abc']);
  });

  it('does no harm the second time', async () => {
    const fake = cluster();
    await deleteClaim(fake, options);
    expect(await deleteClaim(fake, options)).toEqual({
      kind: 'requested',
      ...named,
      already: true,
    });
    fake.claims = [];
    fake.nodes = [];
    expect(await deleteClaim(fake, options)).toEqual({ kind: 'gone', ...named });
    expect(deletions(fake)).toHaveLength(1);
  });

  it('leaves a claim alone that took the name', async () => {
    const fake = cluster();
    fake.claims = [claim({ uid: 'uid-next' })];
    expect(await deleteClaim(fake, options)).toEqual({ kind: 'gone', ...named });
    expect(deletions(fake)).toEqual([]);
  });

  it('leaves a claim alone that takes the name at the last moment', async () => {
    const fake = cluster();
    const getNode = fake.getNode.bind(fake);
    fake.getNode = async (name) => {
      const found = await getNode(name);
      fake.claims = [claim({ uid: 'uid-next' })];
      return found;
    };
    expect(await deleteClaim(fake, options)).toEqual({ kind: 'gone', ...named });
    expect(fake.claims[0]?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('passes a conflict on that has another reason than the uid', async () => {
    const fake = cluster();
    fake.deleteNodeClaim = async () => {
      throw new KubernetesError('conflict', 'try again');
    };
    await expect(deleteClaim(fake, options)).rejects.toMatchObject({ code: 'Kubernetes.conflict' });
  });

  it.each<[string, string, (fake: FakeCluster) => void]>([
    [
      'node-gone',
      'the node is gone and its claim is not',
      (fake) => {
        fake.nodes = [];
      },
    ],
    [
      'node-recreated',
      'another node took the name',
      (fake) => {
        fake.nodes = [node({ uid: 'uid-next' })];
      },
    ],
    [
      'node-recreated',
      'the node has another providerID',
      (fake) => {
        fake.nodes = [node({ providerID: 'aws:///eu-west-1a/i-00000000000000001' })];
      },
    ],
    [
      'claim-mismatch',
      'the claim has another providerID',
      (fake) => {
        fake.claims = [claim({ providerID: 'aws:///eu-west-1a/i-00000000000000001' })];
      },
    ],
    [
      'claim-mismatch',
      'the claim names another node',
      (fake) => {
        fake.claims = [claim({ nodeName: 'n2' })];
      },
    ],
  ])('refuses with %s when %s', async (code, _title, change) => {
    const fake = cluster();
    change(fake);
    expect(await deleteClaim(fake, options)).toMatchObject({ kind: 'refused', code });
    expect(deletions(fake)).toEqual([]);
  });
});
