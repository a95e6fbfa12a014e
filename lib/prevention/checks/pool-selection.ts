/**
 * Whether a DaemonSet selects the nodes that a pool makes, before there is one.
 *
 * How it works: of a label whose values are not known, only few cases can make a difference to a
 * selector: the label is absent, has one of the values that the selector names, lies beside a bound
 * of it, or has any other value. The project's own node selection is asked about every combination:
 * all selected is yes, none is no, and anything between cannot be told.
 */
import { compileNodeSelection } from '../../gap/node-selection.ts';
import type { Node, PodSpec } from '../../kubernetes/objects.ts';
import type { LabelDomain, Pool } from './pools.ts';

export type Selected = 'yes' | 'no' | 'unknown';

/** Beyond so many combinations of labels it is said to be unknown. */
const maxCombinations = 4096;

/** Any value that no selector names. */
const anyOther = 'nodegap-any-other-value';

export function poolSelection(pool: Pick<Pool, 'labels' | 'nodes'>, template: PodSpec): Selected {
  const modelled = bornSelection(pool.labels, template);
  if (modelled !== 'unknown' || pool.nodes.length === 0) return modelled;
  const selection = compileNodeSelection(template);
  const selected = pool.nodes.filter((node) => selection(node) === undefined).length;
  if (selected === pool.nodes.length) return 'yes';
  return selected === 0 ? 'no' : 'unknown';
}

function bornSelection(labels: ReadonlyMap<string, LabelDomain>, template: PodSpec): Selected {
  const mentioned = mentionedLabels(template);
  if (mentioned === undefined) return 'unknown';
  const domains = [...mentioned].map(
    ([key, values]) =>
      [
        key,
        labels.get(key) ?? [
          undefined,
          ...[...values].filter((value) => key !== instanceType || mayBeMade(labels, value)),
          anyOther,
        ],
      ] as const,
  );
  const combinations = domains.reduce((product, [, domain]) => product * domain.length, 1);
  if (combinations > maxCombinations) return 'unknown';
  const selection = compileNodeSelection(template);
  let selected = 0;
  for (let index = 0; index < combinations; index += 1) {
    if (selection(nodeOf(domains, index)) === undefined) selected += 1;
  }
  if (selected === combinations) return combinations === 0 ? 'no' : 'yes';
  return selected === 0 ? 'no' : 'unknown';
}

const instanceType = 'node.kubernetes.io/instance-type';

/**
 * Whether the pool may make an instance of that type, as far as its category and family tell
 * (`c7g.large` is of category c and family c7g: karpenter.sh/docs/concepts/scheduling). The node
 * pods of EBS CSI keep away from a1 by name, where most pools make c, m and r.
 */
function mayBeMade(labels: ReadonlyMap<string, LabelDomain>, type: string): boolean {
  const [family = ''] = type.split('.');
  const [category = ''] = /^[a-z]+/.exec(family) ?? [];
  const told = { 'instance-category': category, 'instance-family': family };
  return Object.entries(told).every(([label, value]) =>
    // Karpenter's own, and those of EKS Auto Mode.
    ['karpenter.k8s.aws', 'eks.amazonaws.com'].every(
      (group) => labels.get(`${group}/${label}`)?.includes(value) ?? true,
    ),
  );
}

function nodeOf(domains: readonly (readonly [string, LabelDomain])[], index: number): Node {
  const labels: Record<string, string> = {};
  let rest = index;
  for (const [key, domain] of domains) {
    const value = domain[rest % domain.length];
    rest = Math.floor(rest / domain.length);
    if (value !== undefined) labels[key] = value;
  }
  return { metadata: { name: '', uid: '', labels }, spec: {}, status: {} };
}

/** Labels that node selector and affinity ask for, with values beside which nothing changes. */
function mentionedLabels(template: PodSpec): Map<string, Set<string>> | undefined {
  const mentioned = new Map<string, Set<string>>();
  const mention = (key: string, values: readonly string[]) => {
    mentioned.set(key, new Set([...(mentioned.get(key) ?? []), ...values]));
  };
  const required = template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms ?? [];
  // Nodes of a pool have no name yet.
  if (template.nodeName !== undefined && template.nodeName !== '') return undefined;
  if (terms.some(({ matchFields = [] }) => matchFields.length > 0)) return undefined;
  for (const [key, value] of Object.entries(template.nodeSelector ?? {})) mention(key, [value]);
  for (const { key, operator, values = [] } of terms.flatMap(
    (term) => term.matchExpressions ?? [],
  )) {
    mention(key, values);
    if (operator !== 'Gt' && operator !== 'Lt') continue;
    for (const value of values.filter((each) => /^[+-]?\d{1,18}$/.test(each))) {
      mention(key, [String(BigInt(value) + 1n), String(BigInt(value) - 1n)]);
    }
  }
  return mentioned;
}
