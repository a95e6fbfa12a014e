/** Why a DaemonSet should or should not run on a node, in words: which selector, which taint. */
import {
  intentEligibility,
  type LookedPastTaint,
  shouldRun,
  sortTaints,
} from '../gap/eligibility.ts';
import type { Evidence } from '../gap/model.ts';
import { taintEvidence } from '../gap/node-findings.ts';
import { compileNodeSelection } from '../gap/node-selection.ts';
import {
  daemonPodTolerations,
  isTolerated,
  keepsPodsOut,
  taintText,
  toleratesTaint,
} from '../gap/tolerations.ts';
import type {
  DaemonSet,
  Node,
  NodeSelectorTerm,
  PodSpec,
  Toleration,
} from '../kubernetes/objects.ts';
import { grounds, obstacles, requirementText, tolerationText } from './selection-evidence.ts';

export interface ShouldRun {
  /** By intent: taints that only mirror a condition, or are nodegap's own, are looked past. */
  should: boolean;
  /** By the rules of the DaemonSet controller, on the taints of this moment. */
  byController: boolean;
  /** One reason a line: the selectors first, then each taint that matters. */
  reasons: string[];
  /** Where each of them stands, and what would change it. */
  evidence: Evidence[];
}

/** `startupTaints` are the configured taint keys that nodes are born with. */
export function explainShouldRun(
  node: Node,
  daemonSet: DaemonSet,
  startupTaints: readonly string[],
): ShouldRun {
  const intent = intentEligibility(node, daemonSet, startupTaints);
  const byController = shouldRun(node, daemonSet).run;
  const template = daemonSet.spec.template.spec;
  const tolerations = daemonPodTolerations(template);
  if (intent.kind === 'not-eligible') {
    const { ordinary } = sortTaints(node, new Set(startupTaints));
    return {
      should: false,
      byController,
      reasons: [intent.reason],
      evidence: obstacles(node, daemonSet, tolerations, ordinary),
    };
  }
  const past = intent.lookedPast.map(
    ({ taint, kind }) => `${lookedPastText[kind]}: ${taintText(taint)}`,
  );
  const keptOut = byController
    ? []
    : ['by the rules of the controller it may not start there now, because of these taints'];
  return {
    should: true,
    byController,
    reasons: [
      ...selectionReasons(node, template),
      ...toleratedReasons(node, tolerations),
      ...past,
      ...keptOut,
    ],
    evidence: [
      ...grounds(node, daemonSet, tolerations),
      ...intent.lookedPast
        .filter(({ taint }) => !isTolerated(tolerations, taint))
        .map(({ taint }) => taintEvidence(node, taint)),
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

function toleratedReasons(node: Node, tolerations: readonly Toleration[]): string[] {
  return (node.spec.taints ?? []).filter(keepsPodsOut).flatMap((taint) => {
    const by = tolerations.find((toleration) => toleratesTaint(toleration, taint));
    return by === undefined
      ? []
      : [`it tolerates taint ${taintText(taint)} (${tolerationText(by)})`];
  });
}
