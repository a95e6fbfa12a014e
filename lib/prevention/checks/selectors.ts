/** DaemonSets that select no node. */

import { compileNodeSelection } from '../../gap/node-selection.ts';
import type { NodeSelectorTerm } from '../../kubernetes/objects.ts';
import { quoted } from '../../report/shell.ts';
import { type AuditContext, type Checked, listed, type RequiredDaemonSet } from './context.ts';
import { poolSelection } from './pool-selection.ts';

export function checkSelectors(context: AuditContext): Checked {
  const checked: Checked = { findings: [], notChecked: [] };
  for (const required of context.required) {
    if (!neverMatches(context, required, checked)) matchesNothing(context, required, checked);
  }
  return checked;
}

/** A required affinity of which no term can match any node: the API server lets it through. */
function neverMatches(
  { facts }: AuditContext,
  { template, key, subject, object }: RequiredDaemonSet,
  checked: Checked,
): boolean {
  const required = template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return false;
  const terms = required.nodeSelectorTerms ?? [];
  const faults = terms.map(faultOf);
  if (terms.length > 0 && faults.includes(undefined)) return false;
  const said =
    terms.length === 0 ? 'it has no terms' : listed(faults.flatMap((fault) => fault ?? []));
  const remove = `kubectl -n ${quoted(object.metadata.namespace ?? 'default')} patch daemonset ${quoted(object.metadata.name)} --type json -p '[{"op":"remove","path":"/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution"}]'`;
  checked.findings.push({
    check: 'selector-never-matches',
    severity: 'error',
    subject,
    message: `The required node affinity of ${key} can match no node: ${said}`,
    why: 'It runs nowhere, and Kubernetes says nothing: a term that is empty or does not parse just never matches.',
    change:
      facts.source === 'manifests'
        ? `Write the term that was meant, or take requiredDuringSchedulingIgnoredDuringExecution out of spec.template.spec.affinity.nodeAffinity to run on every node.`
        : `# Runs on every node; write the term that was meant instead if it is for some.\n${remove}`,
  });
  return true;
}

/** Why a term matches no node whatever its labels; undefined when some node could match. */
function faultOf(term: NodeSelectorTerm): string | undefined {
  const affinity = (one: NodeSelectorTerm) =>
    compileNodeSelection({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [one] },
        },
      },
    })({ metadata: { name: '', uid: '' }, spec: {}, status: {} });
  const reason = affinity(term);
  return reason?.includes('is invalid and matches no node') || reason?.includes('an empty term')
    ? reason.replace(/^required node affinity: /, '')
    : undefined;
}

/** Nodes of another system or kind of machine are no mistake: EKS ships DaemonSets for Windows. */
const expectedLabels = new Set(['kubernetes.io/os', 'kubernetes.io/arch', 'beta.kubernetes.io/os']);

function matchesNothing(
  context: AuditContext,
  required: RequiredDaemonSet,
  checked: Checked,
): void {
  const { nodes, pools, facts } = context;
  const { compiled, template, key, subject } = required;
  const check = 'selector-matches-no-node';
  const { nodeSelector = {} } = template;
  const affine =
    template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined;
  if (Object.keys(nodeSelector).length === 0 && !affine) return;
  if (nodes === undefined) {
    if (facts.nodes.kind === 'read') return;
    checked.notChecked.push({ check, reason: `nodes for ${key}: ${facts.nodes.reason}` });
    return;
  }
  if (nodes.length === 0 || nodes.some((node) => compiled.selection(node) === undefined)) return;
  const answers = pools.map((pool) => ({ pool, selected: poolSelection(pool, template) }));
  if (answers.some(({ selected }) => selected === 'yes')) return;
  const foreign = (key: string, wanted: string) =>
    expectedLabels.has(key) && nodes.every(({ metadata }) => metadata.labels?.[key] !== wanted);
  if (Object.entries(nodeSelector).some(([label, value]) => foreign(label, value))) return;
  const perhaps = answers.filter(({ selected }) => selected === 'unknown');
  if (perhaps.length > 0) {
    const made = listed(perhaps.map(({ pool }) => `${pool.subject.kind} ${pool.subject.name}`));
    checked.notChecked.push({
      check,
      reason: `${key} selects none of ${nodes.length} nodes, and whether ${made} could make one that it selects cannot be told`,
    });
    return;
  }
  const [first] = nodes;
  const reason = first === undefined ? '' : compiled.selection(first);
  checked.findings.push({
    check,
    // Chosen by its class or labels it may be meant for machines that come later.
    severity: required.named ? 'warning' : 'note',
    subject,
    message: `${key} selects none of ${nodes.length} nodes; on ${first?.metadata.name}: ${reason}`,
    why: 'It runs nowhere, and where it runs nowhere there is no gap: nobody is told.',
    change: `# Label the nodes in the template of their pool, or correct the selector. To see what nodes have:\nkubectl get nodes -L ${quoted(labelsOf(required).join(','))}`,
  });
}

function labelsOf({ template }: RequiredDaemonSet): string[] {
  const terms =
    template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? [];
  const affine = terms.flatMap(({ matchExpressions = [] }) => matchExpressions);
  return [
    ...new Set([...Object.keys(template.nodeSelector ?? {}), ...affine.map(({ key }) => key)]),
  ];
}
