/** Alerting and recording rules for Prometheus, from DaemonSets and configuration. */
import { keyOf } from '../../kubernetes/objects.ts';
import { daemonSetRules } from './daemonset-rules.ts';
import type { PrometheusRules, RuleGroup, RulesInput } from './model.ts';
import { oneLine } from './promql.ts';
import { allowListFlag, metricRules, nodeRules } from './shared-rules.ts';

/** One group for nodes, one for the metrics, and one for each required DaemonSet, by name. */
export function prometheusRules(input: RulesInput): PrometheusRules {
  const each = input.daemonSets
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((daemonSet) => daemonSetRules(input, daemonSet))
    .filter((rules) => rules !== undefined);
  const notes = each.map(({ note }) => note).filter((note) => note !== undefined);
  const labels = notes.flatMap(({ needs, refines }) => [...needs, ...refines]);
  return {
    groups: [nodeRules(input), metricRules(input), ...each.map(({ group }) => group)].map(
      onOneLine,
    ),
    notes,
    allowList: [...new Set(labels)].sort(),
  };
}

/** YAML quotes and escapes what has line breaks until nobody can read it. */
function onOneLine({ name, rules }: RuleGroup): RuleGroup {
  return { name, rules: rules.map((rule) => ({ ...rule, expr: oneLine(rule.expr) })) };
}

/** The object of the Prometheus operator, with what kube-state-metrics must show as annotation. */
export function prometheusRuleObject(
  { groups, allowList }: PrometheusRules,
  metadata: { name: string; namespace?: string; labels: Record<string, string> },
): Record<string, unknown> {
  const annotations =
    allowList.length === 0
      ? {}
      : { annotations: { 'nodegap.dev/kube-state-metrics': allowListFlag(allowList) } };
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: {
      name: metadata.name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: { 'app.kubernetes.io/name': 'nodegap', ...metadata.labels },
      ...annotations,
    },
    spec: { groups },
  };
}
