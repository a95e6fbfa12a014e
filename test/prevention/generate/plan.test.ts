import { describe, expect, test } from 'vitest';
import type { PreventionFacts } from '../../../lib/prevention/facts.ts';
import { planStartupTaints } from '../../../lib/prevention/generate/plan.ts';
import { deployment, found, nodePool, read, writtenDaemonSet } from '../prevention-facts.ts';
import { applyPlan } from './apply.ts';
import * as cluster from './facts.ts';

const { clusterFacts, config } = cluster;
const fluentBit = 'nodegap.dev/startup-fluent-bit';

describe('the taints', () => {
  test('are those of known agents, and of nodegap for the rest', () => {
    const { taints, leftOut } = planStartupTaints(clusterFacts(), config());
    expect(taints.map(({ key, effect, remover }) => [key, effect, remover.kind])).toEqual([
      ['ebs.csi.aws.com/agent-not-ready', 'NoExecute', 'agent'],
      ['node.cilium.io/agent-not-ready', 'NoExecute', 'agent'],
      [fluentBit, 'NoSchedule', 'nodegap'],
    ]);
    expect(leftOut).toEqual([]);
  });

  test('of nodegap have the effect that is asked for', () => {
    const { taints } = planStartupTaints(clusterFacts(), config(), { effect: 'NoExecute' });
    expect(taints.find(({ key }) => key === fluentBit)?.effect).toBe('NoExecute');
  });

  test('leave out an agent that would not take its taint off', () => {
    const { taints, leftOut } = planStartupTaints(clusterFacts({ workloads: read() }), config());
    expect(taints.map(({ key }) => key)).not.toContain('node.cilium.io/agent-not-ready');
    expect(leftOut).toEqual([
      {
        daemonSet: 'kube-system/cilium',
        why: expect.stringContaining(
          'there is no Deployment cilium-operator; set operator.removeNodeTaints=true',
        ),
      },
    ]);
  });

  test('are put on no pool where nobody can tell whether the agent takes it off', () => {
    const key = 'node.cilium.io/agent-not-ready';
    const attached = (facts: PreventionFacts) =>
      JSON.stringify(planStartupTaints(facts, config()).attachers).includes(key);
    const facts = clusterFacts({ workloads: { kind: 'not-checked', reason: 'forbidden' } });
    expect(attached(clusterFacts())).toBe(true);
    expect(attached(facts)).toBe(false);
    expect(planStartupTaints(facts, config()).warnings.join()).toContain(
      `${key} is put on no pool: whether Cilium takes it off could not be told (forbidden)`,
    );
  });

  test('follow the key that an operator is set to', () => {
    const args = ['--agent-not-ready-taint-key=corp/cilium'];
    const operator = deployment('cilium-operator', { containers: [{ name: 'o', args }] });
    const { taints } = planStartupTaints(clusterFacts({ workloads: read(operator) }), config());
    expect(taints.map(({ key }) => key)).toContain('corp/cilium');
  });

  test('leave out DaemonSets that only alert, unless their entry names a taint', () => {
    const entry = (rest: string) =>
      config('act', `  - name: fluent-bit\n    action: alert\n${rest}`);
    expect(planStartupTaints(clusterFacts(), entry('')).leftOut).toHaveLength(1);
    const named = planStartupTaints(clusterFacts(), entry('    startupTaint: logs\n'));
    expect(named.taints.map(({ key }) => key)).toEqual(['nodegap.dev/startup-logs']);
  });

  test('leave out a name that is too long for a key', () => {
    const long = writtenDaemonSet({ name: 'a'.repeat(60), namespace: 'x' });
    const { leftOut } = planStartupTaints(clusterFacts({ daemonSets: [found(long)] }), config());
    expect(leftOut).toEqual([
      { daemonSet: `x/${'a'.repeat(60)}`, why: expect.stringContaining('too long') },
    ]);
  });

  const twins = ['a', 'b'].map((namespace) =>
    found(writtenDaemonSet({ name: 'proxy', namespace })),
  );

  test('are refused when two DaemonSets would share one by their names', () => {
    expect(() => planStartupTaints(clusterFacts({ daemonSets: twins }), config())).toThrow(
      'a/proxy and b/proxy would share the taint nodegap.dev/startup-proxy',
    );
  });

  test('are shared when their entry says so', () => {
    const shared = config('act', '  - name: proxy\n    action: replace\n    startupTaint: proxy\n');
    const { taints } = planStartupTaints(clusterFacts({ daemonSets: twins }), shared);
    expect(taints.map(({ owners }) => owners.map(({ key }) => key))).toEqual([
      ['a/proxy', 'b/proxy'],
    ]);
  });
});

describe('a NodePool', () => {
  test('gets startupTaints behind those that are there', () => {
    const { attachers } = planStartupTaints(clusterFacts(), config());
    expect(attachers).toMatchObject([
      {
        kind: 'NodePool',
        name: 'general',
        spec: {
          template: {
            spec: {
              startupTaints: [
                { key: 'example.com/warming-up', effect: 'NoSchedule' },
                { key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' },
                { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' },
                { key: fluentBit, effect: 'NoSchedule' },
              ],
            },
          },
        },
      },
    ]);
    expect(attachers[0]?.comments.at(-1)).toContain('user data of default needs no change');
  });

  test('loses what stands in its taints, where Karpenter takes it for permanent', () => {
    const taints = [
      { key: 'dedicated', value: 'x', effect: 'PreferNoSchedule' },
      { key: fluentBit, effect: 'NoSchedule' },
    ];
    const facts = clusterFacts({ nodePools: read(nodePool('general', { taints })) });
    const [patch] = planStartupTaints(facts, config()).attachers;
    expect(patch?.spec).toMatchObject({ template: { spec: { taints: [taints[0]] } } });
  });

  test('keeps what it moves out of its taints as it is, when it is not wanted', () => {
    const taints = [{ key: 's3.csi.aws.com/agent-not-ready', value: 'x', effect: 'NoSchedule' }];
    const facts = clusterFacts({
      daemonSets: [],
      nodePools: read(nodePool('general', { taints })),
    });
    const [patch] = planStartupTaints(facts, config()).attachers;
    expect(patch?.spec).toEqual({ template: { spec: { startupTaints: taints, taints: [] } } });
  });

  test('gets no taint of a DaemonSet that its nodes never run', () => {
    const gpu = writtenDaemonSet({
      name: 'gpu-agent',
      template: {
        priorityClassName: 'system-node-critical',
        nodeSelector: { 'kubernetes.io/os': 'windows' },
      },
    });
    const plan = planStartupTaints(clusterFacts({ daemonSets: [found(gpu)] }), config());
    expect(plan.attachers).toEqual([]);
    expect(plan.warnings).toEqual([]);
  });

  test('gets no taint of a DaemonSet that some of its nodes may not run, with a warning', () => {
    const gpu = writtenDaemonSet({
      name: 'gpu-agent',
      template: { priorityClassName: 'system-node-critical', nodeSelector: { gpu: 'true' } },
    });
    const plan = planStartupTaints(clusterFacts({ daemonSets: [found(gpu)] }), config());
    expect(plan.attachers).toEqual([]);
    expect(plan.warnings.join()).toContain(
      'NodePool general does not get nodegap.dev/startup-gpu-agent',
    );
  });

  test('gets no taint of a DaemonSet that its own permanent taints keep out', () => {
    const taints = [{ key: 'dedicated', effect: 'NoSchedule' }];
    const facts = clusterFacts({ nodePools: read(nodePool('special', { taints })) });
    const [patch] = planStartupTaints(facts, config()).attachers;
    expect(patch?.spec).toEqual({
      template: {
        spec: { startupTaints: [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' }] },
      },
    });
  });

  test('with user data of its own family is told what that must register', () => {
    const custom = { ...cluster.nodeClass, spec: { amiFamily: 'Custom' } };
    const [patch] = planStartupTaints(
      clusterFacts({ nodeClasses: read(custom) }),
      config(),
    ).attachers;
    expect(patch?.comments.at(-1)).toContain('must register karpenter.sh/unregistered:NoExecute');
  });
});

describe('a DaemonSet', () => {
  test('tolerates every startup taint in use, and takes the place of workload', () => {
    const { tolerations } = planStartupTaints(clusterFacts(), config());
    const keys = [
      'ebs.csi.aws.com/agent-not-ready',
      'example.com/warming-up',
      'node.cilium.io/agent-not-ready',
      fluentBit,
    ];
    const added = keys.map((key) => ({ key, operator: 'Exists' }));
    expect(
      tolerations.map(({ kind, name, spec }) => [kind, name, Object(spec).template.spec]),
    ).toEqual([
      [
        'DaemonSet',
        'ebs-csi-node',
        { tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }, ...added] },
      ],
      [
        'DaemonSet',
        'fluent-bit',
        { tolerations: added, priorityClassName: 'system-node-critical' },
      ],
      ['Deployment', 'cilium-operator', { tolerations: added }],
    ]);
  });

  test.each([
    ['for one effect only', { key: fluentBit, operator: 'Exists', effect: 'NoSchedule' }],
    ['for a time only', { key: fluentBit, operator: 'Exists', tolerationSeconds: 60 }],
    ['for one value only', { key: fluentBit, value: 'x' }],
  ])('that tolerates its taint %s is patched', (_what, toleration) => {
    const template = { priorityClassName: 'system-node-critical', tolerations: [toleration] };
    const one = writtenDaemonSet({ name: 'fluent-bit', template });
    const { tolerations } = planStartupTaints(
      clusterFacts({ daemonSets: [found(one)], nodePools: read() }),
      config(),
    );
    expect(Object(tolerations[0]?.spec).template.spec.tolerations).toEqual([
      toleration,
      { key: fluentBit, operator: 'Exists' },
    ]);
  });

  test('drops a priority in figures that would not fit its new class', () => {
    const template = { priority: 0, tolerations: [{ operator: 'Exists' }] };
    const one = writtenDaemonSet({ name: 'fluent-bit', namespace: 'logging', template });
    const { tolerations } = planStartupTaints(clusterFacts({ daemonSets: [found(one)] }), config());
    expect(tolerations[0]?.spec).toEqual({
      template: { spec: { priorityClassName: 'system-node-critical', priority: null } },
    });
  });
});

describe('the plan', () => {
  test.each([
    ['a NodePool', clusterFacts()],
    [
      'a permanent taint',
      clusterFacts({
        nodePools: read(nodePool('p', { taints: [{ key: fluentBit, effect: 'NoExecute' }] })),
      }),
    ],
    ['no pool', clusterFacts({ nodePools: read() })],
  ])('proposes nothing once it is applied: %s', (_what, facts) => {
    const first = planStartupTaints(facts, config());
    expect(first.tolerations).not.toEqual([]);
    const again = planStartupTaints(applyPlan(facts, first), config());
    expect(again).toMatchObject({ tolerations: [], attachers: [], recipes: [] });
  });

  test.each([
    ['is in observe', config('observe'), 'cluster prod-a is in mode observe'],
    [
      'is not configured',
      { ...config(), clusters: [] },
      'no configuration that names cluster prod-a was given',
    ],
  ])('warns that nobody would take the taints off when the cluster %s', (_what, settings, text) => {
    expect(planStartupTaints(clusterFacts(), settings).warnings[0]).toContain(text);
  });

  test("does not warn of the mode when no taint is nodegap's", () => {
    const facts = clusterFacts({ daemonSets: [found(cluster.cilium)] });
    expect(planStartupTaints(facts, config('observe')).warnings).toEqual([]);
  });

  test('says which attachers it could not see', () => {
    const facts = clusterFacts({
      nodeGroups: { kind: 'not-checked', reason: 'no AWS credentials' },
    });
    expect(planStartupTaints(facts, config()).warnings).toEqual([
      'an attacher may be missing: no AWS credentials',
    ]);
  });
});
