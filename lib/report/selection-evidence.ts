/**
 * Why a DaemonSet is meant for a node or not, field by field: of the DaemonSet's template, what each
 * selector and term asks for, and of the node what it has. Each requirement is judged by itself with
 * the rules of lib/gap/node-selection.ts, so that no rule stands here twice.
 */
import type { Evidence } from '../gap/model.ts';
import { compileNodeSelection } from '../gap/node-selection.ts';
import { isTolerated, keepsPodsOut, taintText } from '../gap/tolerations.ts';
import {
  type DaemonSet,
  keyOf,
  type Node,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PodSpec,
  type Taint,
  type Toleration,
} from '../kubernetes/objects.ts';

const specPath = 'spec.template.spec';
const termsPath = `${specPath}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;

/** One thing that the template asks of a node. */
interface Asked {
  /** Of the DaemonSet. */
  field: string;
  value: string;
  /** Nothing but that one thing. */
  alone: PodSpec;
  /** Of the node; absent when nothing of it is looked at. */
  nodeField?: { field: string; value: string };
  /** What would have to be for it to hold. */
  wanted: string;
}

/** Everything that stands in the way: what does not hold, and the taints that keep the pod out. */
export function obstacles(
  node: Node,
  daemonSet: DaemonSet,
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
): Evidence[] {
  const spec = daemonSet.spec.template.spec;
  const failing = (asked: readonly Asked[]) => asked.filter(({ alone }) => !holds(alone, node));
  const terms = termsOf(spec);
  const noTerm = terms?.every((term) => !holds(aloneOf([term]), node)) === true;
  return [
    ...failing(simpleAsks(node, spec)).flatMap((asked) => unmet(node, daemonSet, asked)),
    ...(noTerm ? termObstacles(node, daemonSet, terms ?? []) : []),
    ...taints
      .filter((taint) => !isTolerated(tolerations, taint))
      .flatMap((taint) => notTolerated(node, daemonSet, taint)),
  ];
}

/** Everything that lets the DaemonSet onto the node: what holds, and the taints that it tolerates. */
export function grounds(
  node: Node,
  daemonSet: DaemonSet,
  tolerations: readonly Toleration[],
): Evidence[] {
  const spec = daemonSet.spec.template.spec;
  const terms = termsOf(spec);
  const matching = terms?.findIndex((term) => holds(aloneOf([term]), node)) ?? -1;
  const term = terms?.[matching];
  const asked = [
    ...simpleAsks(node, spec),
    ...(term === undefined ? [] : termAsks(node, term, matching)),
  ];
  const none: Evidence = {
    object: `daemonset ${keyOf(daemonSet)}`,
    field: `${specPath}.nodeSelector`,
    value: 'absent, as are nodeName and required node affinity',
    wouldChange: 'the template gets one that the node does not match',
  };
  return [
    ...(asked.length === 0 ? [none] : asked.map((one) => met(node, daemonSet, one))),
    ...(node.spec.taints ?? []).flatMap((taint, index) =>
      keepsPodsOut(taint) && isTolerated(tolerations, taint)
        ? [
            {
              object: `node ${node.metadata.name}`,
              field: `spec.taints[${index}]`,
              value: taintText(taint),
              wouldChange: 'the DaemonSet does not tolerate it any more',
            },
          ]
        : [],
    ),
  ];
}

function holds(alone: PodSpec, node: Node): boolean {
  return compileNodeSelection(alone)(node) === undefined;
}

function termsOf(spec: PodSpec): NodeSelectorTerm[] | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required && (required.nodeSelectorTerms ?? []);
}

function aloneOf(nodeSelectorTerms: NodeSelectorTerm[]): PodSpec {
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return { affinity: { nodeAffinity: required } };
}

/** What `nodeName` and `nodeSelector` ask for. */
function simpleAsks(node: Node, { nodeName, nodeSelector = {} }: PodSpec): Asked[] {
  const byName: Asked[] = nodeName
    ? [
        {
          field: `${specPath}.nodeName`,
          value: nodeName,
          alone: { nodeName },
          nodeField: { field: 'metadata.name', value: node.metadata.name },
          wanted: 'the template is bound to this node, or to none',
        },
      ]
    : [];
  const bySelector = Object.entries(nodeSelector).map(([key, value]): Asked => {
    return {
      field: `${specPath}.nodeSelector[${key}]`,
      value,
      alone: { nodeSelector: { [key]: value } },
      nodeField: labelOf(node, key),
      wanted: `the node gets label ${key}=${value}`,
    };
  });
  return [...byName, ...bySelector];
}

/** What one term asks for; all of it has to hold. */
function termAsks(node: Node, term: NodeSelectorTerm, index: number): Asked[] {
  const path = `${termsPath}[${index}]`;
  const expressions = (term.matchExpressions ?? []).map((one, at): Asked => {
    return {
      field: `${path}.matchExpressions[${at}]`,
      value: requirementText(one),
      alone: aloneOf([{ matchExpressions: [one] }]),
      nodeField: labelOf(node, one.key),
      wanted: wantedLabel(one),
    };
  });
  const fields = (term.matchFields ?? []).map((one, at): Asked => {
    return {
      field: `${path}.matchFields[${at}]`,
      value: requirementText(one),
      alone: aloneOf([{ matchFields: [one] }]),
      nodeField: { field: 'metadata.name', value: node.metadata.name },
      wanted: 'the field term names this node',
    };
  });
  return [...expressions, ...fields];
}

/** Why none of the terms matches. */
function termObstacles(
  node: Node,
  daemonSet: DaemonSet,
  terms: readonly NodeSelectorTerm[],
): Evidence[] {
  if (terms.length === 0) {
    return [ofDaemonSet(daemonSet, termsPath, '[]', 'it gets a term that matches the node')];
  }
  return terms.flatMap((term, index) => {
    const asked = termAsks(node, term, index);
    if (asked.length === 0) {
      const wanted = 'the term gets an expression: an empty one matches no node';
      return [ofDaemonSet(daemonSet, `${termsPath}[${index}]`, '{}', wanted)];
    }
    return asked
      .filter(({ alone }) => !holds(alone, node))
      .flatMap((one) => unmet(node, daemonSet, one));
  });
}

function unmet(node: Node, daemonSet: DaemonSet, asked: Asked): Evidence[] {
  const invalid = /is invalid and matches no node \((.*)\)/.exec(
    compileNodeSelection(asked.alone)(node) ?? '',
  );
  if (invalid !== null) {
    const wanted = `it is put right (${invalid[1]}): as it is it matches no node`;
    return [ofDaemonSet(daemonSet, asked.field, asked.value, wanted)];
  }
  return [
    ofDaemonSet(daemonSet, asked.field, asked.value, 'the template does not ask for it any more'),
    ...(asked.nodeField === undefined
      ? []
      : [
          {
            object: `node ${node.metadata.name}`,
            ...asked.nodeField,
            wouldChange: asked.wanted,
          },
        ]),
  ];
}

function met(node: Node, daemonSet: DaemonSet, { field, value, nodeField }: Asked): Evidence {
  const seen = nodeField === undefined ? '' : `, and the node has ${nodeField.value}`;
  return ofDaemonSet(
    daemonSet,
    field,
    `${value}${seen}`,
    `${nodeField?.field ?? 'the node'} of node ${node.metadata.name} does not match it any more`,
  );
}

function notTolerated(node: Node, daemonSet: DaemonSet, taint: Taint): Evidence[] {
  const tolerations = daemonSet.spec.template.spec.tolerations ?? [];
  return [
    {
      object: `node ${node.metadata.name}`,
      field: `spec.taints[${node.spec.taints?.indexOf(taint) ?? -1}]`,
      value: taintText(taint),
      wouldChange: 'the taint goes away',
    },
    ofDaemonSet(
      daemonSet,
      `${specPath}.tolerations`,
      tolerations.length === 0 ? 'absent' : tolerations.map(tolerationText).join(', '),
      `one is added that covers ${taintText(taint)}`,
    ),
  ];
}

function ofDaemonSet(
  daemonSet: DaemonSet,
  field: string,
  value: string,
  wouldChange: string,
): Evidence {
  return { object: `daemonset ${keyOf(daemonSet)}`, field, value, wouldChange };
}

function labelOf(node: Node, key: string): { field: string; value: string } {
  return { field: `metadata.labels[${key}]`, value: node.metadata.labels?.[key] ?? 'absent' };
}

function wantedLabel({ key, operator, values = [] }: NodeSelectorRequirement): string {
  const label = `label ${key} of the node`;
  switch (operator) {
    case 'In':
      return `${label} becomes ${values.length === 1 ? '' : 'one of '}${values.join(', ')}`;
    case 'NotIn':
      return `${label} becomes something else, or goes away`;
    case 'Exists':
      return `the node gets label ${key}`;
    case 'DoesNotExist':
      return `${label} goes away`;
    default:
      return `${label} becomes an integer ${operator === 'Gt' ? 'above' : 'below'} ${values[0]}`;
  }
}

/** `key In [a, b]`. */
export function requirementText({ key, operator, values }: NodeSelectorRequirement): string {
  return values === undefined || values.length === 0
    ? `${key} ${operator}`
    : `${key} ${operator} [${values.join(', ')}]`;
}

/** What a toleration covers, in a few words. */
export function tolerationText({ key, operator, value, effect }: Toleration): string {
  if (!key && operator === 'Exists') return effect ? `every ${effect} taint` : 'every taint';
  const wanted = operator === 'Exists' ? `${key} exists` : `${key}=${value ?? ''}`;
  return effect ? `${wanted}, ${effect}` : wanted;
}
