/** The rules that are about nodes and about the metrics themselves. */
import { formatDuration } from '../../config/duration.ts';
import type { Config } from '../../config/model.ts';
import type { AlertingRule, RecordingRule, RuleGroup, RulesInput } from './model.ts';
import { anyOf, labelsOf, perNode, promString, recordedNodes, selector } from './promql.ts';

/** Taints of a node that something has decided to take away (lib/gap/node-kinds.ts). */
const leaving = [
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
  'ToBeDeletedByClusterAutoscaler',
];

/** Machines that run no DaemonSet pods, or that are not looked at (lib/gap/node-kinds.ts). */
const leftOut = 'eks-hybrid://.*|aws:///[^/]+/[^/]+/fargate-.*';

/** What every rule rests on. kube_node_spec_taint is not here: without taints it has no samples. */
const metrics = [
  'kube_node_info',
  'kube_node_created',
  'kube_node_status_condition',
  'kube_pod_info',
  'kube_pod_status_ready',
  'kube_pod_status_phase',
  'kube_daemonset_status_desired_number_scheduled',
];

/** How long a gap lasts before it is told: the grace of its pod, and what confirms it besides. */
export function nodeAlertSeconds({ timings }: Config): number {
  const scans = (timings.confirmationScans - 1) * timings.scan;
  return timings.podGrace + Math.max(timings.confirmation, scans);
}

/** What shows a node label in kube-state-metrics. */
export function allowListFlag(labels: readonly string[]): string {
  return `--metric-labels-allowlist=nodes=[${labels.join(',')}]`;
}

/** Where to read what an alert means. */
export function runbook({ docsUrl }: RulesInput, alert: string): Record<string, string> {
  const page = `alerts.md#${alert.toLowerCase()}`;
  return docsUrl === undefined
    ? { runbook: `docs/${page}` }
    : { runbook_url: `${docsUrl}/${page}` };
}

/** Nodes as all groups use them. */
export function nodeRules(input: RulesInput): RuleGroup {
  const { scope, config } = input;
  const on = labelsOf(scope, 'node');
  const info = selector(scope, 'kube_node_info', [
    { label: 'provider_id', op: '!~', value: leftOut },
  ]);
  const ready = selector(scope, 'kube_node_status_condition', [
    { label: 'condition', op: '=', value: 'Ready' },
    { label: 'status', op: '=', value: 'true' },
  ]);
  const gone = selector(scope, 'kube_node_spec_taint', [
    { label: 'key', op: '=~', value: anyOf(leaving) },
  ]);
  const created = perNode(scope, selector(scope, 'kube_node_created'));
  const grown = recordedNodes(scope, 'grown');
  const notReady = recordedNodes(scope, 'not_ready');
  const rules: (RecordingRule | AlertingRule)[] = [
    { record: 'node:nodegap_info:max', expr: perNode(scope, info) },
    // Past its grace, and not on its way out.
    {
      record: 'node:nodegap_grown:max',
      expr: `${recordedNodes(scope, 'info')}\nand on ${on} (time() - ${created} > ${config.timings.nodeGrace})\nunless on ${on} ${perNode(scope, gone)}`,
    },
    {
      record: 'node:nodegap_considered:max',
      expr: `${grown}\nand on ${on} (${perNode(scope, ready)} == 1)`,
    },
    {
      record: 'node:nodegap_not_ready:max',
      expr: `${grown}\nand on ${on} (${perNode(scope, ready)} == 0)`,
    },
  ];
  const hold = formatDuration(nodeAlertSeconds(config));
  rules.push(
    alert(input, 'NodegapNodeNotReady', notReady, hold, 'warning', {
      summary: 'Node {{ $labels.node }} is not Ready',
      description: 'The gaps of its DaemonSets are not told: the node itself is the fault.',
      command: 'nodegap explain {{ $labels.node }}',
    }),
    alert(input, 'NodegapBreaker', beyondBreaker(input), hold, 'critical', {
      summary: '{{ $value }} nodes are unhealthy, more than the breaker of nodegap allows',
      description:
        'nodegap begins nothing new while it is so. Rather one cause for all than many broken nodes: look at DaemonSets, network and the latest changes.',
      command: 'nodegap status',
    }),
  );
  return { name: 'nodegap.nodes', rules };
}

/** More unhealthy nodes of the cluster than its breaker allows (lib/safety/breaker.ts). */
function beyondBreaker({ scope, config }: RulesInput): string {
  const { maxUnhealthyPercent: percent, maxUnhealthyNodes } = config.breaker;
  const by = labelsOf(scope);
  const on = labelsOf(scope, 'node');
  const gaps = selector(scope, 'node_daemonset:nodegap_gap:max');
  const unhealthy = `count by ${by} (max by ${on} (${gaps}) or max by ${on} (${recordedNodes(scope, 'not_ready')}))`;
  const share = `floor(count by ${by} (${recordedNodes(scope, 'info')}) * ${percent} / 100)`;
  const atLeastOne = percent === 0 ? share : `clamp_min(${share}, 1)`;
  const limit =
    maxUnhealthyNodes === undefined ? atLeastOne : `clamp_max(${atLeastOne}, ${maxUnhealthyNodes})`;
  return `${unhealthy} > on ${by} ${limit}`;
}

/** The metrics themselves: without them nothing above can fire. */
export function metricRules(input: RulesInput): RuleGroup {
  const { scope } = input;
  const absent = metrics
    .map(
      (metric) =>
        `label_replace(absent(${selector(scope, metric)}), "metric", ${promString(metric)}, "", "")`,
    )
    .join('\nor ');
  const rules = [
    alert(input, 'NodegapMetricsAbsent', absent, '5m', 'critical', {
      summary: 'kube-state-metrics shows no {{ $labels.metric }}: gaps cannot be seen',
      description:
        'Is kube-state-metrics running and scraped, with its metrics of nodes, pods and DaemonSets?',
      command: 'nodegap scan',
    }),
  ];
  if (scope.clusterLabel !== undefined) {
    const by = labelsOf(scope);
    const nodes = selector(scope, 'kube_node_info');
    rules.push(
      alert(
        input,
        'NodegapClusterSilent',
        `count by ${by} (${nodes} offset 1h)\nunless on ${by} count by ${by} (${nodes})`,
        '5m',
        'critical',
        {
          summary: `Cluster {{ $labels.${scope.clusterLabel} }} shows no nodes any more: its gaps cannot be seen`,
          description:
            'An hour ago it did. If the cluster is gone on purpose, this ends by itself.',
          command: 'nodegap scan',
        },
      ),
    );
  }
  return { name: 'nodegap.metrics', rules };
}

function alert(
  input: RulesInput,
  name: string,
  expr: string,
  hold: string,
  severity: string,
  annotations: Record<string, string>,
): AlertingRule {
  return {
    alert: name,
    expr,
    for: hold,
    labels: { severity },
    annotations: { ...annotations, ...runbook(input, name) },
  };
}
