import { describe, expect, it } from 'vitest';
import { defaultConfig, loadConfig } from '../../../lib/config/load.ts';
import type { DaemonSet, PodSpec } from '../../../lib/kubernetes/objects.ts';
import type {
  AlertingRule,
  PrometheusRules,
  RulesInput,
} from '../../../lib/report/prometheus/model.ts';
import { prometheusRuleObject, prometheusRules } from '../../../lib/report/prometheus/rules.ts';
import { daemonSet as build } from '../../gap/build.ts';

const critical = 'system-node-critical';

function agent(template: PodSpec = {}, name = 'agent'): DaemonSet {
  return build(name, { template: { priorityClassName: critical, ...template } });
}

function rulesOf(daemonSets: DaemonSet[], more: Partial<RulesInput> = {}): PrometheusRules {
  return prometheusRules({
    config: defaultConfig('test', 'eu-west-1'),
    daemonSets,
    scope: {},
    ...more,
  });
}

function alertsOf({ groups }: PrometheusRules): AlertingRule[] {
  return groups.flatMap(({ rules }) => rules).filter((rule) => 'alert' in rule);
}

function expressionOf(rules: PrometheusRules, record: string): string | undefined {
  const all = rules.groups.flatMap((group) => group.rules);
  return all.find((rule) => 'record' in rule && rule.record === record)?.expr;
}

const eligible = 'node_daemonset:nodegap_eligible:max';

describe('the groups', () => {
  it('are one for nodes, one for the metrics and one for each required DaemonSet, by name', () => {
    const daemonSets = [agent({}, 'b'), build('not-required'), agent({}, 'a')];
    expect(rulesOf(daemonSets).groups.map(({ name }) => name)).toEqual([
      'nodegap.nodes',
      'nodegap.metrics',
      'nodegap.daemonset.kube-system/a',
      'nodegap.daemonset.kube-system/b',
    ]);
  });

  it('hold no line breaks in their expressions', () => {
    const exprs = rulesOf([agent()]).groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
    expect(exprs.filter((expr) => expr.includes('\n'))).toEqual([]);
  });
});

describe('an alert', () => {
  it('says what, how to look further and where to read on', () => {
    for (const { alert, annotations, labels } of alertsOf(rulesOf([agent()]))) {
      expect(annotations.summary, alert).not.toBe('');
      expect(annotations.command, alert).toMatch(/^nodegap /);
      expect(annotations.runbook, alert).toBe(`docs/alerts.md#${alert.toLowerCase()}`);
      expect(labels.severity, alert).toMatch(/^(critical|warning|info)$/);
    }
  });

  it('links to the page where it is published', () => {
    const docsUrl = 'https://docs.example.com/nodegap';
    const [first] = alertsOf(rulesOf([agent()], { docsUrl }));
    expect(first?.annotations.runbook_url).toBe(`${docsUrl}/alerts.md#nodegapnodenotready`);
  });

  it('waits for the pod grace and the confirmation, by time or by scans', () => {
    const { config } = loadConfig(
      'clusters: [{ name: a, region: eu-west-1 }]\ntimings: { podGrace: 3m, confirmationScans: 5 }\n',
      'nodegap.yaml',
    );
    const waits = alertsOf(rulesOf([agent()], { config }))
      .filter(({ alert }) => alert.startsWith('NodegapPod'))
      .map((rule) => rule.for);
    expect(waits).toEqual(['7m', '7m']);
  });
});

describe('the breaker', () => {
  const limitOf = (breaker: string) => {
    const text = `clusters: [{ name: a, region: eu-west-1 }]\nbreaker: ${breaker}\n`;
    const { config } = loadConfig(text, 'nodegap.yaml');
    const rule = alertsOf(rulesOf([agent()], { config })).find(
      ({ alert }) => alert === 'NodegapBreaker',
    );
    return rule?.expr.split(' > on () ')[1];
  };
  const share = (percent: number) =>
    `floor(count by () (node:nodegap_info:max) * ${percent} / 100)`;

  it.each([
    ['{}', `clamp_min(${share(20)}, 1)`],
    [
      '{ maxUnhealthyPercent: 10, maxUnhealthyNodes: 4 }',
      `clamp_max(clamp_min(${share(10)}, 1), 4)`,
    ],
    ['{ maxUnhealthyPercent: 0 }', share(0)],
  ])('of %s allows %s', (breaker, limit) => {
    expect(limitOf(breaker)).toBe(limit);
  });
});

describe('eligible nodes', () => {
  it('are all when the DaemonSet selects none and tolerates everything', () => {
    const rules = rulesOf([agent({ tolerations: [{ operator: 'Exists' }] })]);
    expect(expressionOf(rules, eligible)).toBe('node:nodegap_info:max');
    expect(rules.notes).toEqual([]);
  });

  it('are chosen by labels as kube-state-metrics names them', () => {
    const rules = rulesOf([agent({ nodeSelector: { 'example.com/nodePool-x': 'a.b' } })]);
    expect(expressionOf(rules, eligible)).toContain(
      'and on (node) kube_node_labels{label_example_com_node_pool_x=~"a\\\\.b"}',
    );
    expect(rules.notes).toEqual([
      { daemonSet: 'kube-system/agent', needs: ['example.com/nodePool-x'], refines: [] },
    ]);
  });

  it('only lose those that visibly differ in a label that every node has', () => {
    const rules = rulesOf([agent({ nodeSelector: { 'kubernetes.io/os': 'linux' } })]);
    expect(expressionOf(rules, eligible)).toContain(
      'unless on (node) kube_node_labels{label_kubernetes_io_os!="",label_kubernetes_io_os!~"linux"}',
    );
    expect(rules.notes[0]).toMatchObject({ needs: [], refines: ['kubernetes.io/os'] });
  });

  it.each<[string, PodSpec]>([
    ['an empty value', { nodeSelector: { gpu: '' } }],
    ['Exists', requiring({ key: 'gpu', operator: 'Exists' })],
    ['Gt', requiring({ key: 'cpus', operator: 'Gt', values: ['4'] })],
  ])('are counted, not named, for what Prometheus cannot tell: %s', (_name, template) => {
    const rules = rulesOf([agent(template)]);
    expect(rules.notes[0]?.untellable).toContain('Prometheus cannot tell');
    expect(alertsOf(rules).map(({ alert }) => alert)).toContain('NodegapDaemonSetShort');
  });

  it('stand beside whatever stands in names', () => {
    const value = 'say "hi" \\ {{ x }}\n';
    const scope = { clusterLabel: 'cluster', clusterValue: value };
    const expr = expressionOf(rulesOf([agent()], { scope }), 'node_daemonset:nodegap_pod:max');
    expect(expr).toContain(`cluster=${JSON.stringify(value)}`);
  });
});

describe('the PrometheusRule', () => {
  it('carries namespace, labels and what kube-state-metrics must show', () => {
    const rules = rulesOf([agent({ nodeSelector: { pool: 'a', team: 'b' } })]);
    const labels = { release: 'prometheus' };
    expect(
      prometheusRuleObject(rules, { name: 'nodegap', namespace: 'monitoring', labels }),
    ).toEqual({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: {
        name: 'nodegap',
        namespace: 'monitoring',
        labels: { 'app.kubernetes.io/name': 'nodegap', release: 'prometheus' },
        annotations: {
          'nodegap.dev/kube-state-metrics': '--metric-labels-allowlist=nodes=[pool,team]',
        },
      },
      spec: { groups: rules.groups },
    });
  });
});

function requiring(requirement: { key: string; operator: string; values?: string[] }): PodSpec {
  const terms = { nodeSelectorTerms: [{ matchExpressions: [requirement] }] };
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  };
}
