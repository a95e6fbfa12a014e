/**
 * nodeSelector and required node affinity of a pod template, compiled once and asked per node
 * (k8s.io/component-helpers scheduling/corev1/nodeaffinity).
 *
 * Gotchas: an empty term, or an empty list of terms, matches nothing. Anything that does not parse
 * makes its whole term match nothing, silently, so `NotIn` without values matches no node. The API
 * server lets some of these through. Numbers are int64, so they are compared as BigInt.
 */
import type {
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
} from '../kubernetes/objects.ts';

/** Undefined when the node is selected, else why not. */
export type NodeSelection = (node: Node) => string | undefined;

type Parsed<T> = { ok: true; value: T } | { ok: false; error: string };
type NodeTest = (node: Node) => string | undefined;

/** Compiles the node selection of a pod template. */
export function compileNodeSelection(template: PodSpec): NodeSelection {
  const { nodeName } = template;
  const tests: NodeTest[] = [];
  if (nodeName !== undefined && nodeName !== '') {
    tests.push((node) =>
      node.metadata.name === nodeName ? undefined : `the template is bound to node ${nodeName}`,
    );
  }
  for (const [key, wanted] of Object.entries(template.nodeSelector ?? {})) {
    tests.push((node) => {
      const value = node.metadata.labels?.[key];
      return value === wanted
        ? undefined
        : `nodeSelector wants ${key}=${wanted} and the node ${labelText(key, value)}`;
    });
  }
  const required = template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required) tests.push(compileTerms(required.nodeSelectorTerms ?? []));
  return (node) => {
    for (const test of tests) {
      const reason = test(node);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
}

/** Terms are ORed. */
function compileTerms(terms: NodeSelectorTerm[]): NodeTest {
  if (terms.length === 0) return () => 'required node affinity has no terms, which match no node';
  const tests = terms.map(compileTerm);
  return (node) => {
    const reasons: string[] = [];
    for (const test of tests) {
      const reason = test(node);
      if (reason === undefined) return undefined;
      reasons.push(reason);
    }
    return reasons.length === 1
      ? `required node affinity: ${reasons[0]}`
      : `required node affinity: ${reasons.map((reason, index) => `term ${index + 1}: ${reason}`).join('; ')}`;
  };
}

/** Expressions and fields of a term are ANDed; one that does not parse kills the term. */
function compileTerm(term: NodeSelectorTerm): NodeTest {
  const expressions = (term.matchExpressions ?? []).map(compileExpression);
  const fields = (term.matchFields ?? []).map(compileField);
  const parsed = [...expressions, ...fields];
  if (parsed.length === 0) return () => 'an empty term matches no node';
  const tests: NodeTest[] = [];
  for (const requirement of parsed) {
    if (!requirement.ok) {
      const { error } = requirement;
      return () => `the term is invalid and matches no node (${error})`;
    }
    tests.push(requirement.value);
  }
  return (node) => {
    for (const test of tests) {
      const reason = test(node);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
}

function compileExpression(requirement: NodeSelectorRequirement): Parsed<NodeTest> {
  const { key } = requirement;
  if (!isQualifiedName(key)) return invalid(`"${key}" is no label key`);
  const bad = (requirement.values ?? []).find((value) => !isLabelValue(value));
  if (bad !== undefined) return invalid(`"${bad}" is no label value`);
  const test = labelTest(requirement);
  if (!test.ok) return test;
  const text = requirementText(requirement);
  return {
    ok: true,
    value: (node) => {
      const value = node.metadata.labels?.[key];
      return test.value(value) ? undefined : `${text} and the node ${labelText(key, value)}`;
    },
  };
}

function labelTest(
  requirement: NodeSelectorRequirement,
): Parsed<(label: string | undefined) => boolean> {
  const values = requirement.values ?? [];
  const text = requirementText(requirement);
  switch (requirement.operator) {
    case 'In':
    case 'NotIn': {
      if (values.length === 0) return invalid(`${text}: no values`);
      const set = new Set(values);
      const wanted = requirement.operator === 'In';
      return valid((label) => (label !== undefined && set.has(label)) === wanted);
    }
    case 'Exists':
    case 'DoesNotExist': {
      if (values.length > 0) return invalid(`${text}: takes no values`);
      const wanted = requirement.operator === 'Exists';
      return valid((label) => (label !== undefined) === wanted);
    }
    case 'Gt':
    case 'Lt': {
      const bound = values.length === 1 ? parseInt64(values[0] ?? '') : undefined;
      if (bound === undefined) return invalid(`${text}: needs exactly one integer`);
      const greater = requirement.operator === 'Gt';
      return valid((label) => {
        const number = label === undefined ? undefined : parseInt64(label);
        if (number === undefined) return false;
        return greater ? number > bound : number < bound;
      });
    }
    default:
      return invalid(`${text}: unknown operator`);
  }
}

/** Only `metadata.name` is a field; any other is compared as the empty string. */
function compileField(requirement: NodeSelectorRequirement): Parsed<NodeTest> {
  const { key, operator } = requirement;
  const values = requirement.values ?? [];
  const text = `field ${requirementText(requirement)}`;
  if (operator !== 'In' && operator !== 'NotIn') return invalid(`${text}: unknown operator`);
  if (values.length !== 1) return invalid(`${text}: needs exactly one value`);
  const wanted = operator === 'In';
  return {
    ok: true,
    value: (node) => {
      const value = key === 'metadata.name' ? node.metadata.name : '';
      return (value === values[0]) === wanted ? undefined : `${text} and the node has "${value}"`;
    },
  };
}

function valid<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

function invalid(error: string): { ok: false; error: string } {
  return { ok: false, error };
}

function requirementText({ key, operator, values }: NodeSelectorRequirement): string {
  return values === undefined || values.length === 0
    ? `${key} ${operator}`
    : `${key} ${operator} [${values.join(', ')}]`;
}

function labelText(key: string, value: string | undefined): string {
  if (value === undefined) return `has no label ${key}`;
  return value === '' ? `has ${key} empty` : `has ${key}=${value}`;
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < int64.min || value > int64.max ? undefined : value;
}

const nameForm = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const subdomainForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function isLabelValue(value: string): boolean {
  return value === '' || (value.length <= 63 && nameForm.test(value));
}

/** `[prefix/]name` (k8s.io/apimachinery validation.IsQualifiedName). */
function isQualifiedName(key: string): boolean {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2 || name.length > 63 || !nameForm.test(name)) return false;
  const prefix = parts.length === 2 ? parts[0] : undefined;
  return prefix === undefined || (prefix.length <= 253 && subdomainForm.test(prefix));
}
