/** Why a DaemonSet should or should not run on a node, in words: which selector, which taint. */
import { intentEligibility, type LookedPastTaint, shouldRun } from '../gap/eligibility.ts';
import { compileNodeSelection } from '../gap/node-selection.ts';
import {
  daemonPodTolerations,
  keepsPodsOut,
  taintText,
  toleratesTaint,
} from '../gap/tolerations.ts';
import type {
  DaemonSet,
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  Toleration,
} from '../kubernetes/objects.ts';

export interface ShouldRun {
  /** By intent: taints that only mirror a condition, or are nodegap's own, are looked past. */
  should: boolean;
  /** One reason a line: the selectors first, then each taint that matters. */
  reasons: string[];
}

/** `startupTaints` are the configured taint keys that nodes are born with. */
export function explainShouldRun(
  node: Node,
  daemonSet: DaemonSet,
  startupTaints: readonly string[],
): ShouldRun {
  const intent = intentEligibility(node, daemonSet, startupTaints);
  if (intent.kind === 'not-eligible') return { should: false, reasons: [intent.reason] };
  const template = daemonSet.spec.template.spec;
  const past = intent.lookedPast.map(
    ({ taint, kind }) => `${lookedPastText[kind]}: ${taintText(taint)}`,
  );
  const keptOut = shouldRun(node, daemonSet).run
    ? []
    : ['by the rules of the controller it may not start there now, because of these taints'];
  return {
    should: true,
    reasons: [
      ...selectionReasons(node, template),
      ...toleratedReasons(node, template),
      ...past,
      ...keptOut,
    ],
  };
}

const lookedPastText: Record<LookedPastTaint['kind'], string> = {
  condition: 'looked past a taint that mirrors the state of the node',
  own: "looked past nodegap's own taint",
  startup: 'looked past a startup taint',
  initialising: 'the node is still being initialised',
};

function selectionReasons(node: Node, template: PodSpec): string[] {
  const reasons: string[] = [];
  if (template.nodeName) reasons.push(`its template is bound to node ${template.nodeName}`);
  const selector = Object.entries(template.nodeSelector ?? {});
  if (selector.length > 0) {
    const text = selector.map(([key, value]) => `${key}=${value}`).join(',');
    reasons.push(`node selector ${text} matches`);
  }
  const terms =
    template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms;
  if (terms !== undefined) {
    const index = terms.findIndex((term) => termMatches(node, term));
    const which = terms.length > 1 ? `term ${index + 1} of ${terms.length} ` : '';
    const term = terms[index];
    if (term !== undefined) reasons.push(`node affinity ${which}matches: ${termText(term)}`);
  }
  return reasons.length === 0 ? ['it has no node selector: every node is meant'] : reasons;
}

function termMatches(node: Node, term: NodeSelectorTerm): boolean {
  const alone = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
  return compileNodeSelection({ affinity: { nodeAffinity: alone } })(node) === undefined;
}

function termText({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): string {
  return [...matchExpressions.map(requirementText), ...matchFields.map(requirementText)].join(
    ' and ',
  );
}

function requirementText({ key, operator, values }: NodeSelectorRequirement): string {
  return values === undefined || values.length === 0
    ? `${key} ${operator}`
    : `${key} ${operator} [${values.join(', ')}]`;
}

function toleratedReasons(node: Node, template: PodSpec): string[] {
  const tolerations = daemonPodTolerations(template);
  return (node.spec.taints ?? []).filter(keepsPodsOut).flatMap((taint) => {
    const by = tolerations.find((toleration) => toleratesTaint(toleration, taint));
    return by === undefined
      ? []
      : [`it tolerates taint ${taintText(taint)} (${tolerationText(by)})`];
  });
}

function tolerationText({ key, operator, value, effect }: Toleration): string {
  if (!key && operator === 'Exists') return effect ? `every ${effect} taint` : 'every taint';
  const wanted = operator === 'Exists' ? `${key} exists` : `${key}=${value ?? ''}`;
  return effect ? `${wanted}, ${effect}` : wanted;
}
