/**
 * Label selectors as `kubectl -l` writes them: `app=x,tier!=y,env in (a,b),env notin (c),key,!key`.
 * The grammar and the meaning of each operator follow k8s.io/apimachinery/pkg/labels: `!=` and
 * `notin` also match an object that lacks the key.
 */

export type SelectorRequirement =
  | { operator: 'in' | 'notin'; key: string; values: string[] }
  | { operator: 'exists' | 'absent'; key: string };

export type SelectorParse =
  | { ok: true; requirements: SelectorRequirement[] }
  | { ok: false; message: string };

const namePart = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether `key` is a qualified label or taint key: `[prefix/]name`. */
export function isLabelKey(key: string): boolean {
  const parts = key.split('/');
  const name = parts.pop() ?? '';
  const prefix = parts.pop();
  if (parts.length > 0 || !namePart.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && dnsSubdomain.test(prefix));
}

function isLabelValue(value: string): boolean {
  return value === '' || namePart.test(value);
}

/** Splits at commas outside parentheses. Undefined when the parentheses do not match. */
function splitTerms(text: string): string[] | undefined {
  const terms: string[] = [];
  let depth = 0;
  let term = '';
  for (const char of text) {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (depth < 0 || depth > 1) return undefined;
    if (char === ',' && depth === 0) {
      terms.push(term.trim());
      term = '';
    } else {
      term += char;
    }
  }
  return depth === 0 ? [...terms, term.trim()] : undefined;
}

function parseTerm(term: string): SelectorRequirement | string {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return { operator: operator as 'in' | 'notin', key, values };
  }
  const comparison = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/.exec(term);
  if (comparison !== null) {
    const [, key = '', operator, value = ''] = comparison;
    return { operator: operator === '!=' ? 'notin' : 'in', key, values: [value] };
  }
  if (/^!\s*\S+$/.test(term)) return { operator: 'absent', key: term.slice(1).trim() };
  if (/^[^\s=!()]+$/.test(term)) return { operator: 'exists', key: term };
  return `"${term}" is not a selector term; write key=value, key!=value, key in (a,b), key notin (a,b), key or !key`;
}

/** Reads a label selector. An empty one is refused: it would select everything. */
export function parseSelector(text: string): SelectorParse {
  if (text.trim() === '') {
    return { ok: false, message: 'an empty selector would mean every DaemonSet' };
  }
  const terms = splitTerms(text);
  if (terms === undefined) return { ok: false, message: `parentheses do not match in "${text}"` };
  const requirements: SelectorRequirement[] = [];
  for (const term of terms) {
    if (term === '') return { ok: false, message: `a term is missing at a comma in "${text}"` };
    const parsed = parseTerm(term);
    if (typeof parsed === 'string') return { ok: false, message: parsed };
    if (!isLabelKey(parsed.key)) {
      return { ok: false, message: `"${parsed.key}" is not a valid label key` };
    }
    const badValue = 'values' in parsed ? parsed.values.find((v) => !isLabelValue(v)) : undefined;
    if (badValue !== undefined) {
      return { ok: false, message: `"${badValue}" is not a valid label value` };
    }
    requirements.push(parsed);
  }
  return { ok: true, requirements };
}

function requirementMatches(requirement: SelectorRequirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notin':
      return value === undefined || !requirement.values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
  }
}

/** Whether labels satisfy every requirement. */
export function selectorMatches(
  requirements: readonly SelectorRequirement[],
  labels: Readonly<Record<string, string>>,
): boolean {
  return requirements.every((requirement) =>
    requirementMatches(
      requirement,
      Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined,
    ),
  );
}
