/** The rules of `nodegap rules prometheus`, as Prometheus itself judges made-up clusters by them. */
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../lib/config/load.ts';
import type { DaemonSet, PodSpec, Toleration } from '../../lib/kubernetes/objects.ts';
import type { RulesInput } from '../../lib/report/prometheus/model.ts';
import { prometheusRules } from '../../lib/report/prometheus/rules.ts';
import { daemonSet as buildDaemonSet } from '../gap/build.ts';
import { buildTools } from './harness/build.ts';
import {
  checkRules,
  daemonSetSeries,
  metric,
  nodeSeries,
  podSeries,
  type Series,
  testRules,
} from './support/promtool.ts';

const { config } = loadConfig(
  `clusters: [{ name: test, region: eu-west-1 }]
requiredDaemonSets:
  - { name: other, action: alert }
  - priorityClass: system-node-critical
`,
  'nodegap.yaml',
);

function agent(template: PodSpec = {}, name = 'agent'): DaemonSet {
  return buildDaemonSet(name, {
    template: { priorityClassName: 'system-node-critical', ...template },
  });
}

function rulesOf(daemonSets: DaemonSet[] = [agent()], more: Partial<RulesInput> = {}) {
  return prometheusRules({ config, daemonSets, scope: {}, ...more });
}

const of = { namespace: 'kube-system', daemonset: 'agent' };
const fires = (alertname: string, node?: string, more: Record<string, string> = of) => ({
  alertname,
  ...more,
  ...(node === undefined ? {} : { node }),
});

/** Nodes that are well, each with its pod: so many that one unhealthy node is within the breaker. */
function wellNodes(count = 9): Series[] {
  return Array.from({ length: count }, (_, index) => `well-${index}`).flatMap((name) => [
    ...nodeSeries(name),
    ...podSeries(name),
  ]);
}

const well = [...daemonSetSeries('10x60'), ...wellNodes()];

beforeAll(() => buildTools(console.error, process.env, ['promtool']));

describe('promtool check', () => {
  test.each<[string, ReturnType<typeof rulesOf>]>([
    ['plain rules', rulesOf()],
    ['rules of several clusters', rulesOf([agent()], { scope: { clusterLabel: 'cluster' } })],
    [
      'rules of one of several clusters, with every kind of selector',
      rulesOf(
        [
          agent({
            nodeSelector: { 'kubernetes.io/os': 'linux', 'example.com/nodePool': 'a.b' },
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [
                    { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['x', 'y'] }] },
                    { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n.1'] }] },
                  ],
                },
              },
            },
            tolerations: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }],
          }),
          agent({ nodeSelector: { gpu: '' } }, 'na.me-with.dots'),
        ],
        { scope: { clusterLabel: 'cluster', clusterValue: 'say "hi" \\ {{ x }}' } },
      ),
    ],
  ])('finds nothing wrong with %s', async (_name, rules) => {
    expect(await checkRules(stringify({ groups: rules.groups }))).toContain('SUCCESS');
  });
});

describe('an alert of a node', () => {
  test('does not fire for a cluster that is well', async () => {
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a'), ...podSeries('a')],
      [
        { minute: 1, firing: [] },
        { minute: 60, firing: [] },
      ],
    );
  });

  test('fires for a missing pod, once it has been missing for pod grace and confirmation', async () => {
    const gone = podSeries('a', { there: '1x19 stale _x40' });
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a'), ...gone],
      [
        { minute: 25, firing: [] },
        { minute: 26, firing: [fires('NodegapPodMissing', 'a')] },
        { minute: 60, firing: [fires('NodegapPodMissing', 'a')] },
      ],
    );
  });

  test('ends when the pod is back', async () => {
    const back = podSeries('a', { there: '_x29 1x30' });
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a'), ...back],
      [
        { minute: 20, firing: [fires('NodegapPodMissing', 'a')] },
        { minute: 31, firing: [] },
      ],
    );
  });

  test('fires for a pod that is not Ready, and not for a missing one besides', async () => {
    const unready = podSeries('a', { ready: '1x9 0x50' });
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a'), ...unready],
      [
        { minute: 15, firing: [] },
        { minute: 17, firing: [fires('NodegapPodNotReady', 'a')] },
      ],
    );
  });

  test('takes a pod that has failed for none', async () => {
    const failed = podSeries('a', { phase: 'Failed', ready: '0x60' });
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a'), ...failed],
      [{ minute: 10, firing: [fires('NodegapPodMissing', 'a')] }],
    );
  });

  test('does not take the pod of another DaemonSet, or one of its name elsewhere, for its own', async () => {
    const others = [
      ...podSeries('a', { daemonSet: 'agent-2' }),
      ...podSeries('a', { namespace: 'default' }),
    ];
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a'), ...others],
      [{ minute: 10, firing: [fires('NodegapPodMissing', 'a')] }],
    );
  });

  test('does not fire for a node within its grace, and fires after it', async () => {
    const young = nodeSeries('a', { created: 0 });
    await testRules(
      rulesOf(),
      [...well, ...young],
      [
        { minute: 16, firing: [] },
        { minute: 18, firing: [fires('NodegapPodMissing', 'a')] },
      ],
    );
  });

  test('does not fire for a node that is not Ready, which has an alert of its own', async () => {
    const silent = nodeSeries('a', { ready: '1x9 0x50' });
    await testRules(
      rulesOf(),
      [...well, ...silent, ...podSeries('a', { ready: '1x9 0x50' })],
      [
        { minute: 14, firing: [] },
        { minute: 30, firing: [fires('NodegapNodeNotReady', 'a', {})] },
      ],
    );
  });

  test.each(['karpenter.sh/disrupted', 'ToBeDeletedByClusterAutoscaler'])(
    'does not fire for a node that is leaving, by %s',
    async (key) => {
      const leaving = nodeSeries('a', { taints: [{ key }] });
      await testRules(
        rulesOf([agent({ tolerations: [{ operator: 'Exists' }] })]),
        [...well, ...leaving],
        [{ minute: 30, firing: [] }],
      );
    },
  );

  test.each([
    'aws:///eu-west-1a/1a2b3c/fargate-ip-10-0-0-1.eu-west-1.compute.internal',
    'eks-hybrid:///eu-west-1/test/mi-1',
  ])('does not fire for %s', async (providerId) => {
    await testRules(
      rulesOf(),
      [...well, ...nodeSeries('a', { providerId })],
      [{ minute: 30, firing: [] }],
    );
  });

  test('is not doubled by two kube-state-metrics, of which one restarts', async () => {
    const one = { scrape: { instance: '10.0.0.1:8080' } };
    const two = { scrape: { instance: '10.0.0.2:8080' } };
    const both = [one, two].flatMap((scrape) => [
      ...nodeSeries('a', scrape),
      ...nodeSeries('b', scrape),
    ]);
    const seen = [
      ...podSeries('b', { ...one, there: '1x20 stale _x10 1x29' }),
      ...podSeries('b', two),
    ];
    await testRules(
      rulesOf(),
      [...well, ...both, ...seen],
      [{ minute: 30, firing: [fires('NodegapPodMissing', 'a')] }],
    );
  });
});

describe('taints', () => {
  const dedicated = { key: 'dedicated', value: 'db' };
  const tainted = (taint: { key: string; value?: string; effect?: string }) => [
    ...well,
    ...nodeSeries('a', { taints: [taint] }),
  ];
  const missing = [{ minute: 30, firing: [fires('NodegapPodMissing', 'a')] }];
  const nothing = [{ minute: 30, firing: [] }];

  test.each<[string, { key: string; value?: string; effect?: string }]>([
    ['that it does not tolerate', dedicated],
    ['with NoExecute', { ...dedicated, effect: 'NoExecute' }],
  ])('%s make a node ineligible', async (_name, taint) => {
    await testRules(rulesOf(), tainted(taint), nothing);
  });

  test.each<[string, Toleration[]]>([
    ['all', [{ operator: 'Exists' }]],
    ['the key', [{ key: 'dedicated', operator: 'Exists' }]],
    ['key and value', [{ key: 'dedicated', value: 'db' }]],
    ['key, value and effect', [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }]],
    ['the effect', [{ operator: 'Exists', effect: 'NoSchedule' }]],
  ])('are no reason when it tolerates %s', async (_name, tolerations) => {
    await testRules(rulesOf([agent({ tolerations })]), tainted(dedicated), missing);
  });

  test.each<[string, Toleration[]]>([
    ['another value', [{ key: 'dedicated', value: 'web' }]],
    ['another effect', [{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute' }]],
    ['another key', [{ key: 'dedicated2', operator: 'Exists' }]],
  ])('are a reason when it tolerates %s', async (_name, tolerations) => {
    await testRules(rulesOf([agent({ tolerations })]), tainted(dedicated), nothing);
  });

  test.each([
    { key: 'nodegap.dev/daemonset-gap' },
    { key: 'nodegap.dev/startup-agent' },
    { key: 'node.cilium.io/agent-not-ready' },
    { key: 'node.kubernetes.io/unschedulable' },
    { key: 'dedicated', effect: 'PreferNoSchedule' },
  ])('that pass or only advise are looked past: $key', async (taint) => {
    await testRules(rulesOf(), tainted(taint), missing);
  });
});

describe('node labels', () => {
  const selecting = agent({ nodeSelector: { 'example.com/nodePool': 'a.b' } });

  test('choose the nodes of a DaemonSet, where kube-state-metrics shows them', async () => {
    const series = [
      ...daemonSetSeries('1x60'),
      ...wellNodes(),
      ...nodeSeries('a', { labels: { 'example.com/nodePool': 'a.b' } }),
      ...nodeSeries('b', { labels: { 'example.com/nodePool': 'aXb' } }),
      ...nodeSeries('c'),
    ];
    const rules = rulesOf([selecting]);
    expect(rules.allowList).toEqual(['example.com/nodePool']);
    await testRules(rules, series, [{ minute: 30, firing: [fires('NodegapPodMissing', 'a')] }]);
  });

  test('that are not shown make the rules blind, which is told', async () => {
    const series = [...daemonSetSeries('1x60'), ...wellNodes(), ...nodeSeries('a')];
    await testRules(rulesOf([selecting]), series, [
      { minute: 10, firing: [] },
      { minute: 30, firing: [fires('NodegapRulesBlind')] },
    ]);
  });

  test('that every node has narrow only where they are shown', async () => {
    const linux = agent({ nodeSelector: { 'kubernetes.io/os': 'linux' } });
    const series = [
      ...well,
      ...nodeSeries('a'),
      ...nodeSeries('b', { labels: { 'kubernetes.io/os': 'windows' } }),
    ];
    await testRules(rulesOf([linux]), series, [
      { minute: 30, firing: [fires('NodegapPodMissing', 'a')] },
    ]);
  });

  test('of an affinity leave out what they exclude, and terms are alternatives', async () => {
    const apart = agent({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['x'] }] },
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] },
            ],
          },
        },
      },
    });
    const x = { labels: { team: 'x' } };
    const series = [...well, ...nodeSeries('a', x), ...nodeSeries('b', x)];
    await testRules(rulesOf([apart]), series, [
      { minute: 30, firing: [fires('NodegapPodMissing', 'b')] },
    ]);
  });

  test('that Prometheus cannot tell leave a count', async () => {
    const empty = agent({ nodeSelector: { gpu: '' } });
    const ready = metric('kube_daemonset_status_number_ready', of, '10x19 9x40');
    await testRules(
      rulesOf([empty]),
      [...well, ready],
      [
        { minute: 30, firing: [] },
        { minute: 40, firing: [fires('NodegapDaemonSetShort')] },
      ],
    );
  });
});

describe('a DaemonSet', () => {
  test('that is deleted has no gaps, and is told as absent', async () => {
    const series = [
      ...daemonSetSeries('10x19 stale _x40'),
      ...daemonSetSeries('10x60', 'another'),
      ...wellNodes(),
      ...nodeSeries('a'),
    ];
    const ended = podSeries('a', { there: '1x19 stale _x40' });
    await testRules(
      rulesOf(),
      [...series, ...ended],
      [
        { minute: 20, firing: [] },
        { minute: 40, firing: [fires('NodegapDaemonSetAbsent')] },
      ],
    );
  });

  test('that is rolled out node by node fires nothing', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `r-${index}`);
    const rolled = names.flatMap((name, index) => {
      const at = 5 + index * 4;
      return [
        ...nodeSeries(name),
        ...podSeries(name, { pod: `old-${name}`, there: `1x${at - 1} stale _x${60 - at}` }),
        ...podSeries(name, {
          pod: `new-${name}`,
          there: `_x${at} 1x${60 - at}`,
          ready: `_x${at} 0x1 1x${60 - at}`,
        }),
      ];
    });
    await testRules(
      rulesOf(),
      [...daemonSetSeries('10x60'), ...rolled],
      [...[10, 20, 30, 40, 50, 60].map((minute) => ({ minute, firing: [] }))],
    );
  });

  test('has alerts as urgent as what nodegap may do about it', () => {
    const severityOf = (name: string) =>
      rulesOf([agent({}, name)])
        .groups.flatMap(({ rules }) => rules)
        .flatMap((rule) =>
          'alert' in rule && rule.alert === 'NodegapPodMissing' ? [rule.labels.severity] : [],
        );
    expect([severityOf('agent'), severityOf('other')]).toEqual([['critical'], ['info']]);
  });
});

describe('the cluster', () => {
  const lacking = (count: number) =>
    Array.from({ length: count }, (_, index) => nodeSeries(`bad-${index}`)).flat();
  const missing = (count: number) =>
    Array.from({ length: count }, (_, index) => fires('NodegapPodMissing', `bad-${index}`));

  test.each([
    [2, false],
    [3, true],
  ])('with %i of 12 nodes unhealthy is beyond its breaker: %s', async (count, beyond) => {
    const series = [...daemonSetSeries('12x60'), ...wellNodes(12 - count), ...lacking(count)];
    const breaker = beyond ? [{ alertname: 'NodegapBreaker' }] : [];
    await testRules(rulesOf(), series, [{ minute: 30, firing: [...missing(count), ...breaker] }]);
  });

  test('without kube-state-metrics is told as unseen, metric by metric', async () => {
    const absent = rulesOf()
      .groups.flatMap(({ rules }) => rules)
      .flatMap((rule) =>
        'alert' in rule && rule.alert === 'NodegapMetricsAbsent' ? [rule.expr] : [],
      )
      .flatMap((expr) => [...expr.matchAll(/absent\((\w+)\)/g)].map(([, name = '']) => name));
    expect(absent).toContain('kube_pod_info');
    await testRules(
      rulesOf(),
      [metric('up', { job: 'other' })],
      [
        { minute: 4, firing: [] },
        {
          minute: 10,
          firing: absent.map((name) => fires('NodegapMetricsAbsent', undefined, { metric: name })),
        },
      ],
    );
  });

  test('whose metrics of pods alone are gone accuses no node', async () => {
    const nodes = [
      ...daemonSetSeries('10x60'),
      ...wellNodes(9).filter(({ series }) => !series.startsWith('kube_pod')),
    ];
    const gone = ['kube_pod_info', 'kube_pod_status_ready', 'kube_pod_status_phase'];
    await testRules(rulesOf(), nodes, [
      {
        minute: 30,
        firing: gone.map((name) => fires('NodegapMetricsAbsent', undefined, { metric: name })),
      },
    ]);
  });

  test('is told apart from others by its label', async () => {
    const scope = { clusterLabel: 'cluster' };
    const [one, two] = [{ scrape: { cluster: 'one' } }, { scrape: { cluster: 'two' } }];
    const many = (scrape: { scrape: Record<string, string> }) =>
      Array.from({ length: 9 }, (_, index) => `w-${index}`).flatMap((name) => [
        ...nodeSeries(name, scrape),
        ...podSeries(name, scrape),
      ]);
    const series = [
      ...daemonSetSeries('10x60', 'agent', one.scrape),
      ...daemonSetSeries('10x60', 'agent', two.scrape),
      ...many(one),
      ...many(two),
      ...nodeSeries('a', one),
      ...nodeSeries('a', two),
      ...podSeries('a', two),
    ];
    const firing = [fires('NodegapPodMissing', 'a', { ...of, cluster: 'one' })];
    await testRules(rulesOf([agent()], { scope }), series, [{ minute: 30, firing }]);
    const onlyTwo = { clusterLabel: 'cluster', clusterValue: 'two' };
    await testRules(rulesOf([agent()], { scope: onlyTwo }), series, [{ minute: 30, firing: [] }]);
  });
});
