/**
 * The nodes that a DaemonSet is meant to run on, in PromQL.
 *
 * How it works: a set of nodes is narrowed by `and on` and `unless on`. Taints are always in
 * kube-state-metrics. Labels are only there when allow-listed, so a selector on a label that the
 * kubelet gives every node takes away the nodes that visibly do not match (with the default
 * kube-state-metrics: none), and any other keeps those that visibly do.
 *
 * Gotcha: Prometheus does not tell an empty label from one that is not there, so what rests on
 * empty values, on numbers or on fields other than the name cannot be said.
 */
import {
  type CompiledDaemonSet,
  conditionTaints,
  initialisingTaints,
} from '../../gap/eligibility.ts';
import type { NodeSelectorRequirement, Toleration } from '../../kubernetes/objects.ts';
import {
  anyOf,
  labelsOf,
  type Matcher,
  nodeLabelName,
  perNode,
  type Scope,
  selector,
} from './promql.ts';

/** What narrows the nodes down, or why PromQL cannot. */
export type Eligible =
  | {
      kind: 'nodes';
      expression: string;
      /** Labels that kube-state-metrics must show for the rules to find any node. */
      needs: string[];
      /** Labels that it must show for the rules to leave out the nodes that do not match. */
      refines: string[];
    }
  | { kind: 'untellable'; why: string };

/** Labels that every node has: the kubelet and the cloud provider set them. */
const everyNode = new Set([
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

/** Taint keys that intent looks past (lib/gap/eligibility.ts), beside those of the configuration. */
const passing = [...conditionTaints, ...initialisingTaints];

class Untellable extends Error {}

/** Narrows the expression `nodes` to those that the DaemonSet is meant to run on. */
export function eligibleNodes(
  scope: Scope,
  nodes: string,
  compiled: CompiledDaemonSet,
  startupTaints: readonly string[],
): Eligible {
  const needs = new Set<string>();
  const refines = new Set<string>();
  try {
    const selected = selectedNodes(scope, nodes, compiled, { needs, refines });
    const taints = untoleratedTaints(scope, compiled.tolerations, startupTaints);
    const expression =
      taints === undefined
        ? selected
        : `${selected}\nunless on ${labelsOf(scope, 'node')}\n${perNode(scope, taints)}`;
    for (const key of needs) refines.delete(key);
    return { kind: 'nodes', expression, needs: [...needs].sort(), refines: [...refines].sort() };
  } catch (error) {
    if (error instanceof Untellable) return { kind: 'untellable', why: error.message };
    throw error;
  }
}

interface Labels {
  needs: Set<string>;
  refines: Set<string>;
}

function selectedNodes(
  scope: Scope,
  nodes: string,
  { daemonSet }: CompiledDaemonSet,
  labels: Labels,
): string {
  const { nodeName, nodeSelector, affinity } = daemonSet.spec.template.spec;
  const simple: NodeSelectorRequirement[] = Object.entries(nodeSelector ?? {}).map(
    ([key, value]) => ({ key, operator: 'In', values: [value] }),
  );
  const names: NodeSelectorRequirement[] =
    nodeName === undefined || nodeName === ''
      ? []
      : [{ key: 'metadata.name', operator: 'In', values: [nodeName] }];
  const base = termNodes(scope, nodes, simple, names, labels);
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (terms === undefined) return base;
  const each = (terms.nodeSelectorTerms ?? [])
    .filter((term) => [...(term.matchExpressions ?? []), ...(term.matchFields ?? [])].length > 0)
    .map((term) =>
      termNodes(scope, nodes, term.matchExpressions ?? [], term.matchFields ?? [], labels),
    );
  if (each.length === 0) throw new Untellable('its required node affinity matches no node');
  const either =
    each.length === 1 ? (each[0] ?? nodes) : each.map((one) => `(${one})`).join(' or ');
  if (simple.length + names.length === 0) return `(${either})`;
  return `((${base}) and on ${labelsOf(scope, 'node')} (${either}))`;
}

/** Requirements that must all hold. */
function termNodes(
  scope: Scope,
  nodes: string,
  expressions: readonly NodeSelectorRequirement[],
  fields: readonly NodeSelectorRequirement[],
  labels: Labels,
): string {
  const on = labelsOf(scope, 'node');
  const keep: Matcher[] = [];
  const drop: Matcher[][] = [];
  for (const { key, operator, values = [] } of expressions) {
    const label = nodeLabelName(key);
    const isEmpty = values.includes('');
    if (operator === 'In' && values.length > 0 && !isEmpty) {
      if (everyNode.has(key)) {
        labels.refines.add(key);
        drop.push([
          { label, op: '!=', value: '' },
          { label, op: '!~', value: anyOf(values) },
        ]);
      } else {
        labels.needs.add(key);
        keep.push({ label, op: '=~', value: anyOf(values) });
      }
    } else if (operator === 'NotIn' && values.length > 0 && !isEmpty) {
      labels.refines.add(key);
      drop.push([{ label, op: '=~', value: anyOf(values) }]);
    } else {
      throw new Untellable(
        `Prometheus cannot tell the node label ${key} ${operator} [${values.join(', ')}]`,
      );
    }
  }
  const parts = [nodes];
  if (keep.length > 0) parts.push(`and on ${on} ${selector(scope, 'kube_node_labels', keep)}`);
  for (const matchers of drop) {
    parts.push(`unless on ${on} ${selector(scope, 'kube_node_labels', matchers)}`);
  }
  for (const { key, operator, values = [] } of fields) {
    const [name = ''] = values;
    if (key !== 'metadata.name' || (operator !== 'In' && operator !== 'NotIn')) {
      throw new Untellable(`Prometheus cannot tell the node field ${key} ${operator}`);
    }
    const named = selector(scope, 'kube_node_info', [{ label: 'node', op: '=', value: name }]);
    parts.push(`${operator === 'In' ? 'and' : 'unless'} on ${on} ${named}`);
  }
  return parts.join('\n');
}

/** The taints that keep its pods out for good; undefined when it tolerates all. */
function untoleratedTaints(
  scope: Scope,
  tolerations: readonly Toleration[],
  startupTaints: readonly string[],
): string | undefined {
  const past = new Set([...passing, ...startupTaints]);
  const tolerated: Matcher[][] = [];
  for (const toleration of tolerations) {
    const { key = '', effect = '', operator = '', value = '' } = toleration;
    // As lib/gap/tolerations.ts: any other operator covers nothing.
    if (!['', 'Equal', 'Exists'].includes(operator)) continue;
    const exists = operator === 'Exists';
    if (key === '' && effect === '' && exists) return undefined;
    if (key !== '' && effect === '' && exists) {
      past.add(key);
      continue;
    }
    if (past.has(key)) continue;
    tolerated.push([
      ...(key === '' ? [] : [{ label: 'key', op: '=', value: key } as const]),
      ...(exists ? [] : [{ label: 'value', op: '=', value } as const]),
      ...(effect === '' ? [] : [{ label: 'effect', op: '=', value: effect } as const]),
    ]);
  }
  const keys = `${anyOf([...past].sort())}|nodegap\\.dev/.*`;
  const all = selector(scope, 'kube_node_spec_taint', [
    { label: 'effect', op: '=~', value: 'NoSchedule|NoExecute' },
    { label: 'key', op: '!~', value: keys },
  ]);
  const kept = tolerated.map((matchers) => selector(scope, 'kube_node_spec_taint', matchers));
  return kept.length === 0 ? all : `${all}\nunless (${[...new Set(kept)].join(' or ')})`;
}
