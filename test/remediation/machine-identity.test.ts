import { describe, expect, it } from 'vitest';
import type { Machine } from '../../lib/machines.ts';
import { isTaggedFor, mismatchOf } from '../../lib/remediation/machine-identity.ts';
import { node } from './builders.ts';
import { machine } from './machine-samples.ts';

describe('mismatchOf', () => {
  it('finds nothing wrong with the machine of the node', () => {
    expect(mismatchOf(node(), machine(), 'prod')).toBeUndefined();
  });

  it.each<[string, Partial<Machine>, RegExp]>([
    ['another id', { id: 'i-0000000000000beef' }, /EC2 told of i-0000000000000beef/],
    ['another zone', { zone: 'eu-west-1b' }, /in eu-west-1a, and i-.* in eu-west-1b/],
    [
      'a start after the node came',
      { launchedAt: Date.parse('2026-11-29T06:01:01Z') },
      /was started at 2026-11-29T06:01:01.000Z, after node n1 came/,
    ],
    ['no tag of a cluster', { tags: {} }, /bears neither the tag kubernetes.io\/cluster\/prod/],
    ['the tag of another cluster', { tags: { 'kubernetes.io/cluster/test': 'owned' } }, /neither/],
    [
      'a node group of another cluster in a shared subnet',
      { tags: { 'eks:cluster-name': 'test', 'kubernetes.io/cluster/prod': 'shared' } },
      /neither/,
    ],
  ])('refuses %s', (_what, parts, why) => {
    expect(mismatchOf(node(), machine(parts), 'prod')).toMatch(why);
  });

  it('refuses a node whose providerID names no EC2 instance, and one without a creation time', () => {
    const hybrid = node({ providerID: 'eks-hybrid:///eu-west-1/prod/mi-0123456789abcdef0' });
    expect(mismatchOf(hybrid, machine(), 'prod')).toMatch(/no EC2 instance/);
    const timeless = node();
    delete timeless.metadata.creationTimestamp;
    expect(mismatchOf(timeless, machine(), 'prod')).toMatch(/unknown when/);
  });

  it('allows for clocks that are a minute apart', () => {
    const launchedAt = Date.parse('2026-11-29T06:00:59Z');
    expect(mismatchOf(node(), machine({ launchedAt }), 'prod')).toBeUndefined();
  });
});

describe('isTaggedFor', () => {
  it.each([
    [{ 'kubernetes.io/cluster/prod': 'owned' }, true],
    [{ 'kubernetes.io/cluster/prod': 'shared' }, true],
    [{ 'eks:cluster-name': 'prod' }, true],
    [{ 'kubernetes.io/cluster/prod': '' }, false],
    [{ 'kubernetes.io/cluster/production': 'owned' }, false],
  ])('%j: %s', (tags, expected) => {
    expect(isTaggedFor(tags as unknown as Record<string, string>, 'prod')).toBe(expected);
  });
});
