import { describe, expect, it } from 'vitest';
import {
  type Audited,
  agent,
  audit,
  configOf,
  findings,
  node,
  noExecute,
  noSchedule,
  said,
  unmade,
} from '../audited.ts';
import { eksDaemonSets } from '../manifests.ts';
import { nodePool, notChecked, read } from '../prevention-facts.ts';

const taintChecks = [
  'startup-taint-deadlock',
  'startup-taint-shuts-out',
  'shut-out-by-taint',
] as const;
const startup = (name: string) => `nodegap.dev/startup-${name}`;
const pool = (...keys: string[]) =>
  read(nodePool('general', { startupTaints: keys.map(noSchedule) }));
const tolerating = (name: string, ...keys: string[]) =>
  agent({
    name,
    template: {
      tolerations: ['nodegap.dev/daemonset-gap', ...keys].map((key) => ({
        key,
        operator: 'Exists',
      })),
    },
  });

describe('startup taints that a DaemonSet does not tolerate', () => {
  const cases: [string, Audited, string[], string[]][] = [
    ['it tolerates everything', { facts: { nodePools: pool(startup('agent')) } }, [], []],
    [
      'its own',
      { daemonSets: [tolerating('a')], facts: { nodePools: pool(startup('a')) } },
      ['error DaemonSet a'],
      [],
    ],
    [
      'its own, with another effect than it tolerates',
      {
        daemonSets: [
          agent({
            template: {
              tolerations: [
                { key: 'nodegap.dev/daemonset-gap', operator: 'Exists' },
                { key: startup('agent'), operator: 'Exists', effect: 'NoSchedule' },
              ],
            },
          }),
        ],
        facts: {
          nodePools: read(nodePool('general', { startupTaints: [noExecute(startup('agent'))] })),
        },
      },
      ['error DaemonSet agent'],
      [],
    ],
    [
      'that of another, which waits for nothing of it',
      {
        daemonSets: [tolerating('a', startup('a')), tolerating('b', startup('a'), startup('b'))],
        facts: { nodePools: pool(startup('a'), startup('b')) },
      },
      [],
      ['warning DaemonSet a'],
    ],
    [
      'those of each other',
      {
        daemonSets: [tolerating('a', startup('a')), tolerating('b', startup('b'))],
        facts: { nodePools: pool(startup('a'), startup('b')) },
      },
      ['error DaemonSet a', 'error DaemonSet b'],
      [],
    ],
    [
      'those of each other, on nodes of different pools',
      {
        daemonSets: [tolerating('a', startup('a')), tolerating('b', startup('b'))],
        facts: {
          nodePools: read(
            nodePool('one', { startupTaints: [noSchedule(startup('a'))] }),
            nodePool('two', { startupTaints: [noSchedule(startup('b'))] }),
          ),
        },
      },
      [],
      ['warning DaemonSet a', 'warning DaemonSet b'],
    ],
    [
      'in a ring of three',
      {
        daemonSets: [
          tolerating('a', startup('a'), startup('c')),
          tolerating('b', startup('b'), startup('a')),
          tolerating('c', startup('c'), startup('b')),
        ],
        facts: { nodePools: pool(startup('a'), startup('b'), startup('c')) },
      },
      ['error DaemonSet a', 'error DaemonSet b', 'error DaemonSet c'],
      [],
    ],
    [
      'one of a pool where it does not run',
      {
        daemonSets: [
          agent({
            template: { tolerations: [], nodeSelector: { 'karpenter.sh/nodepool': 'gpu' } },
          }),
        ],
        facts: { nodePools: pool(startup('agent')) },
      },
      [],
      [],
    ],
    [
      'that of a known agent that is not required',
      {
        daemonSets: [
          ...eksDaemonSets('ebs-csi-node').map((daemonSet) => ({
            ...daemonSet,
            spec: {
              ...daemonSet.spec,
              template: {
                spec: {
                  ...daemonSet.spec.template.spec,
                  priorityClassName: '',
                  tolerations: [],
                },
              },
            },
          })),
        ],
        // Its affinity asks for instance types, which only a node tells.
        facts: {
          nodePools: pool('ebs.csi.aws.com/agent-not-ready'),
          nodes: read(node('a', { 'karpenter.sh/nodepool': 'general' })),
        },
      },
      ['error DaemonSet ebs-csi-node'],
      [],
    ],
    [
      'one that Kubernetes takes off by itself',
      {
        daemonSets: [tolerating('a')],
        facts: { nodePools: pool('node.cloudprovider.kubernetes.io/uninitialized') },
      },
      [],
      [],
    ],
  ];
  it.each(cases)('%s', (_, audited, deadlocks, shutOut) => {
    expect(said('startup-taint-deadlock', audited)).toEqual(deadlocks);
    expect(said('startup-taint-shuts-out', audited)).toEqual(shutOut);
  });

  it('are not all known when a kind of attacher was not read', () => {
    const audited = { facts: { nodeGroups: notChecked('no right to eks') } };
    for (const check of taintChecks) {
      expect(unmade(check, audited).join()).toContain('no right to eks');
    }
  });
});

describe('gap-taint-not-tolerated', () => {
  it.each<[string, Audited, string[]]>([
    ['tolerated', {}, []],
    [
      'not tolerated',
      { daemonSets: [agent({ template: { tolerations: [] } })] },
      ['warning DaemonSet agent'],
    ],
    [
      'not tolerated in mode observe',
      { daemonSets: [agent({ template: { tolerations: [] } })], config: configOf('', 'observe') },
      ['note DaemonSet agent'],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said('gap-taint-not-tolerated', audited)).toEqual(expected);
  });
});

describe('condition-taint-not-tolerated', () => {
  const config = (effect: string) =>
    configOf(
      `conditionTaints:\n  - { name: deadlock, type: KernelDeadlock, status: "True", effect: ${effect} }\n`,
    );
  const daemonSets = [agent({ template: { tolerations: [] } })];
  it.each<[string, Audited, string[]]>([
    ['tolerated', { config: config('NoSchedule') }, []],
    ['not tolerated', { daemonSets, config: config('NoSchedule') }, ['warning DaemonSet agent']],
    ['one that keeps nothing away', { daemonSets, config: config('PreferNoSchedule') }, []],
  ])('%s', (_, audited, expected) => {
    expect(said('condition-taint-not-tolerated', audited)).toEqual(expected);
  });
});

describe('shut-out-by-taint', () => {
  const check = 'shut-out-by-taint';
  const strict = [agent({ template: { tolerations: [] } })];
  const tainted = (key: string) => read(node('a', {}, [noSchedule(key)]));
  it.each<[string, Audited, string[]]>([
    ['tolerated', { facts: { nodes: tainted('dedicated') } }, []],
    [
      'of a node',
      { daemonSets: strict, facts: { nodes: tainted('dedicated') } },
      ['warning DaemonSet agent'],
    ],
    [
      'of a pool',
      {
        daemonSets: strict,
        facts: { nodePools: read(nodePool('general', { taints: [noSchedule('dedicated')] })) },
      },
      ['warning DaemonSet agent'],
    ],
    [
      'of a node that it does not select',
      {
        daemonSets: [
          agent({ template: { tolerations: [], nodeSelector: { 'kubernetes.io/os': 'windows' } } }),
        ],
        facts: { nodes: tainted('dedicated') },
      },
      [],
    ],
    [
      'of a condition',
      { daemonSets: strict, facts: { nodes: tainted('node.kubernetes.io/not-ready') } },
      [],
    ],
    [
      'of nodegap',
      { daemonSets: strict, facts: { nodes: tainted('nodegap.dev/daemonset-gap') } },
      [],
    ],
    [
      'of a new node',
      { daemonSets: strict, facts: { nodes: tainted('ebs.csi.aws.com/agent-not-ready') } },
      [],
    ],
    [
      'of a leaving node',
      { daemonSets: strict, facts: { nodes: tainted('karpenter.sh/disrupted') } },
      [],
    ],
    [
      'PreferNoSchedule',
      {
        daemonSets: strict,
        facts: { nodes: read(node('a', {}, [{ key: 'dedicated', effect: 'PreferNoSchedule' }])) },
      },
      [],
    ],
    [
      'of a DaemonSet that only alerts',
      {
        daemonSets: strict,
        facts: { nodes: tainted('dedicated') },
        config: configOf('requiredDaemonSets:\n  - { name: agent, action: alert }\n'),
      },
      ['note DaemonSet agent'],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it('is not checked on nodes that were not read', () => {
    expect(unmade(check, { facts: { nodes: notChecked('no cluster') } }).join()).toContain(
      'no cluster',
    );
  });
});

describe('the change', () => {
  it('adds to the tolerations that are there when the command runs', () => {
    const [finding] = findings('gap-taint-not-tolerated', {
      daemonSets: [agent({ template: { tolerations: [{ key: 'x', operator: 'Exists' }] } })],
    });
    expect(finding?.change).toBe(
      `kubectl -n kube-system get daemonset agent -o json | jq '.spec.template.spec.tolerations += [{"key":"nodegap.dev/daemonset-gap","operator":"Exists"}]' | kubectl replace -f -`,
    );
  });

  it('carries in a manifest what all findings of the DaemonSet need', () => {
    const { findings: all } = audit({
      daemonSets: [agent({ template: { tolerations: [{ key: 'x', operator: 'Exists' }] } })],
      facts: { source: 'manifests', nodePools: pool(startup('agent')) },
    });
    const changes = all
      .filter(({ check }) => /deadlock|gap-taint/.test(check))
      .map(({ change }) => change);
    expect(changes).toHaveLength(2);
    for (const change of changes) {
      for (const key of ['x', startup('agent'), 'nodegap.dev/daemonset-gap']) {
        expect(change).toContain(`key: ${key}\n`);
      }
    }
  });
});
