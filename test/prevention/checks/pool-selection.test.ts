import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileNodeSelection } from '../../../lib/gap/node-selection.ts';
import type { NodeSelectorRequirement, PodSpec } from '../../../lib/kubernetes/objects.ts';
import { poolSelection } from '../../../lib/prevention/checks/pool-selection.ts';
import { type LabelDomain, poolsOf } from '../../../lib/prevention/checks/pools.ts';
import { node, nodeGroup } from '../audited.ts';
import { eksDaemonSets } from '../manifests.ts';
import { nodePool, preventionFacts, read } from '../prevention-facts.ts';

const affine = (...matchExpressions: NodeSelectorRequirement[]): PodSpec => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  },
});
const pool = (labels: Record<string, LabelDomain>) => ({
  labels: new Map(Object.entries(labels)),
  nodes: [],
});

describe('whether a DaemonSet selects nodes that a pool will make', () => {
  it.each<[string, Record<string, LabelDomain>, PodSpec, string]>([
    ['no selector', {}, {}, 'yes'],
    ['a known label', { a: ['1'] }, { nodeSelector: { a: '1' } }, 'yes'],
    ['another value', { a: ['1'] }, { nodeSelector: { a: '2' } }, 'no'],
    ['one of several values', { a: ['1', '2'] }, { nodeSelector: { a: '1' } }, 'unknown'],
    ['all of several values', { a: ['1', '2'] }, affine({ key: 'a', operator: 'Exists' }), 'yes'],
    ['an unknown label', {}, { nodeSelector: { a: '1' } }, 'unknown'],
    [
      'an unknown label beside one that rules it out',
      { b: ['1'] },
      { nodeSelector: { a: '1', b: '2' } },
      'no',
    ],
    [
      'an unknown label that does not matter',
      {},
      affine({ key: 'a', operator: 'Exists' }, { key: 'a', operator: 'DoesNotExist' }),
      'no',
    ],
    ['numbers', { a: ['5'] }, affine({ key: 'a', operator: 'Gt', values: ['4'] }), 'yes'],
    ...(
      [
        ['a category', { 'karpenter.k8s.aws/instance-category': ['c', 'm'] }, 'yes'],
        ['a family', { 'karpenter.k8s.aws/instance-family': ['c7g'] }, 'yes'],
        ['a category of Auto Mode', { 'eks.amazonaws.com/instance-category': ['c'] }, 'yes'],
        [
          'a category that has it',
          { 'karpenter.k8s.aws/instance-category': ['a', 'm'] },
          'unknown',
        ],
        ['nothing', {}, 'unknown'],
      ] as const
    ).map(([what, labels, expected]): [string, Record<string, LabelDomain>, PodSpec, string] => [
      `not the instance types that ${what} rules out`,
      labels,
      affine({ key: 'node.kubernetes.io/instance-type', operator: 'NotIn', values: ['a1.large'] }),
      expected,
    ]),
    ['the name of a node', {}, { nodeName: 'n1' }, 'unknown'],
  ])('%s', (_, labels, template, expected) => {
    expect(poolSelection(pool(labels), template)).toBe(expected);
  });

  it('asks the nodes that are there when the pool does not tell', () => {
    const template = { nodeSelector: { disk: 'ssd' } };
    const made = (...disks: string[]) => ({
      labels: new Map(),
      nodes: disks.map((disk, index) => node(`n${index}`, { disk })),
    });
    expect(poolSelection(made('ssd', 'ssd'), template)).toBe('yes');
    expect(poolSelection(made('hdd'), template)).toBe('no');
    expect(poolSelection(made('ssd', 'hdd'), template)).toBe('unknown');
  });

  it('never contradicts a node that the pool may make', () => {
    const keys = ['a', 'b', 'c'];
    const values = ['1', '2', '3', 'x'];
    const requirement = fc.record({
      key: fc.constantFrom(...keys),
      operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'),
      values: fc.array(fc.constantFrom(...values), { maxLength: 2 }),
    });
    const template = fc.record({
      nodeSelector: fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values), {
        maxKeys: 2,
      }),
      terms: fc.array(fc.array(requirement, { maxLength: 3 }), { maxLength: 2 }),
    });
    const domains = fc.dictionary(
      fc.constantFrom(...keys),
      fc.uniqueArray(fc.option(fc.constantFrom(...values), { nil: undefined }), {
        minLength: 1,
        maxLength: 3,
      }),
    );
    const pick = fc.dictionary(fc.constantFrom(...keys), fc.nat(20));
    fc.assert(
      fc.property(template, domains, pick, ({ nodeSelector, terms }, known, picked) => {
        const spec: PodSpec = {
          nodeSelector,
          ...(terms.length > 0 && {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
                },
              },
            },
          }),
        };
        const any: LabelDomain = [undefined, ...values, '0', '4', '99', 'other'];
        const labels: Record<string, string> = {};
        for (const key of keys) {
          const domain = known[key] ?? any;
          const value = domain[(picked[key] ?? 0) % domain.length];
          if (value !== undefined) labels[key] = value;
        }
        const selected = compileNodeSelection(spec)(node('n', labels)) === undefined;
        expect(poolSelection(pool(known), spec)).not.toBe(selected ? 'no' : 'yes');
      }),
      { numRuns: 500 },
    );
  });
});

describe('what is known of nodes of a pool', () => {
  const chosen = (
    name: string,
    facts: Parameters<typeof preventionFacts>[0],
    nodes = [] as ReturnType<typeof node>[],
  ) => {
    const [daemonSet] = eksDaemonSets(name);
    const [first] = poolsOf(preventionFacts(facts), nodes);
    if (daemonSet === undefined || first === undefined) throw new TypeError('nothing to ask');
    return poolSelection(first, daemonSet.spec.template.spec);
  };
  const windows = { kind: 'EC2NodeClass', name: 'win' };
  it.each<[string, string, Parameters<typeof preventionFacts>[0], string]>([
    ['aws-node on a NodePool', 'aws-node', { nodePools: read(nodePool('a')) }, 'yes'],
    ['aws-node on a node group', 'aws-node', { nodeGroups: read(nodeGroup('a')) }, 'yes'],
    [
      'aws-node on Auto Mode',
      'aws-node',
      {
        nodePools: read(
          nodePool('a', {
            nodeClassRef: { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' },
          }),
        ),
      },
      'no',
    ],
    [
      'aws-node on Windows',
      'aws-node',
      {
        nodePools: read(nodePool('a', { nodeClassRef: windows })),
        nodeClasses: read({
          kind: 'EC2NodeClass',
          metadata: { name: 'win', uid: 'u' },
          spec: { amiSelectorTerms: [{ alias: 'windows2022@latest' }] },
        }),
      },
      'no',
    ],
    [
      'aws-node on one architecture',
      'aws-node',
      {
        nodePools: read(
          nodePool('a', {
            requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }],
          }),
        ),
      },
      'yes',
    ],
    [
      'ebs-csi-node, which asks for instance types',
      'ebs-csi-node',
      { nodePools: read(nodePool('a')) },
      'unknown',
    ],
    [
      'ebs-csi-node where they are named',
      'ebs-csi-node',
      {
        nodePools: read(
          nodePool('a', {
            requirements: [
              {
                key: 'node.kubernetes.io/instance-type',
                operator: 'In',
                values: ['m7i.large', 'm7i.xlarge'],
              },
            ],
          }),
        ),
      },
      'yes',
    ],
  ])('%s', (_, name, facts, expected) => {
    expect(chosen(name, facts)).toBe(expected);
  });
});
