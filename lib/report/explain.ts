/** Everything that `nodegap explain` knows about a node and its DaemonSets, as data. */

import type { Config } from '../config/model.ts';
import { requirementOf } from '../config/required.ts';
import { statesOnNode } from '../gap/detect.ts';
import type {
  ClusterFacts,
  Detection,
  DetectionPolicy,
  Evidence,
  PairState,
  Requirement,
  UnknownEntry,
} from '../gap/model.ts';
import { type LeftOut, leftOut, poolOf, zoneOf } from '../gap/node-kinds.ts';
import { daemonSetUidOf, targetNodeOf } from '../gap/pod-target.ts';
import { type CrossCheck, crossChecksOf } from '../gap/status-check.ts';
import {
  type DaemonSet,
  keyOf,
  type Node,
  type NodeClaim,
  type Pod,
} from '../kubernetes/objects.ts';
import { type ConditionVerdict, claimFinder, type GapVerdict } from '../remediation/actionable.ts';
import { type NodeKind, nodeKindOf } from '../remediation/replacement.ts';
import { type PlanStep, plannerFor } from './plan.ts';
import { explainShouldRun, type ShouldRun } from './should-run.ts';
import { evidenceOf, nodeEvidence } from './verdict-evidence.ts';

export interface PairExplanation {
  /** `namespace/name`. */
  daemonSet: string;
  requirement: Requirement | undefined;
  shouldRun: ShouldRun;
  /** Pods of the DaemonSet that are on the node or for it. */
  pods: Pod[];
  state: Exclude<PairState, { kind: 'gap' }> | { kind: 'gap'; verdict: GapVerdict };
  /** What the verdict rests on. Never empty. */
  evidence: Evidence[];
  /** How its status compares, over all nodes. */
  crossCheck: CrossCheck;
  /** What nodegap would do, empty when nothing. */
  plan: PlanStep[];
}

export interface NodeExplanation {
  node: Node;
  kind: NodeKind;
  claim: string | undefined;
  pool: string | undefined;
  zone: string | undefined;
  /** What the node says of itself. */
  evidence: Evidence[];
  /** Why the node is not looked at, when it is not. */
  leftOut: LeftOut | undefined;
  /** What is unknown about the node or the whole read. */
  unknown: UnknownEntry[];
  /** Node conditions that are faults. */
  conditions: { verdict: ConditionVerdict; plan: PlanStep[] }[];
  pairs: PairExplanation[];
}

/** Explains the pairs of `node` with `daemonSets`: gaps first, then by name. */
export function explainNode(input: {
  facts: ClusterFacts;
  policy: DetectionPolicy;
  /** Of all DaemonSets, not only the required ones. */
  detection: Detection;
  verdicts: readonly GapVerdict[];
  conditions?: readonly ConditionVerdict[];
  config: Config;
  node: Node;
  daemonSets: readonly DaemonSet[];
}): NodeExplanation {
  const { facts, policy, detection, config, node, daemonSets } = input;
  const { name, uid } = node.metadata;
  const claim = claimFinder(facts)(node);
  const left = leftOut(node, claim);
  const planOf = plannerFor(facts, config);
  const judged = statesOnNode(facts, policy, detection.now, name, daemonSets);
  const checks = crossChecksOf({ ...facts, daemonSets }, { ...policy, allDaemonSets: true });
  const podsHere = facts.pods.filter((pod) => targetNodeOf(pod) === name).sort(newestFirst);
  const pairs = daemonSets.map((daemonSet, index): PairExplanation => {
    const verdict = input.verdicts.find(
      ({ gap }) => gap.nodeUid === uid && gap.daemonSetUid === daemonSet.metadata.uid,
    );
    const state = judged[index];
    const crossCheck = checks[index];
    if (state === undefined || crossCheck === undefined) {
      throw new TypeError(`${keyOf(daemonSet)} on ${name} is not judged`);
    }
    const shouldRun = explainShouldRun(node, daemonSet, config.startupTaints);
    return {
      daemonSet: keyOf(daemonSet),
      requirement: requirementOf(config, daemonSet),
      shouldRun,
      pods: podsHere.filter((pod) => daemonSetUidOf(pod) === daemonSet.metadata.uid),
      state: withVerdict(state, verdict),
      evidence: evidenceOf({ node, daemonSet, state, shouldRun, leftOut: left?.evidence }),
      crossCheck,
      plan: verdict?.kind === 'actionable' ? planOf(verdict) : [],
    };
  });
  return {
    node,
    kind: nodeKindOf(node, claim),
    claim: claimNameOf(node, claim),
    pool: poolOf(node),
    zone: zoneOf(node),
    evidence: nodeEvidence(node),
    leftOut: left,
    unknown: detection.unknown.filter(
      (entry) => entry.daemonSet === undefined && (entry.node ?? name) === name,
    ),
    conditions: (input.conditions ?? [])
      .filter(({ gap }) => gap.nodeUid === uid)
      .map((verdict) => ({ verdict, plan: verdict.kind === 'actionable' ? planOf(verdict) : [] })),
    pairs: pairs.sort((a, b) => rank(a) - rank(b) || (a.daemonSet < b.daemonSet ? -1 : 1)),
  };
}

/** Nothing at all can be said of the node, as against of one of its conditions. */
export function isNodeUnknown(unknown: readonly UnknownEntry[]): boolean {
  return unknown.some(({ node, condition }) => node !== undefined && condition === undefined);
}

function withVerdict(state: PairState, verdict: GapVerdict | undefined): PairExplanation['state'] {
  if (state.kind !== 'gap') return state;
  if (verdict !== undefined) return { kind: 'gap', verdict };
  const { daemonSet, node } = state.gap;
  throw new TypeError(`${daemonSet} on ${node} is not judged as the detection did`);
}

function rank({ state }: PairExplanation): number {
  if (state.kind === 'gap') {
    if (state.verdict.kind === 'actionable') return 0;
    return state.verdict.gap.required ? 1 : 2;
  }
  if (state.kind === 'deferred') return 3;
  return state.kind === 'not-eligible' ? 5 : 4;
}

/** A dump often holds no NodeClaims, but the node names its own. */
function claimNameOf(node: Node, claim: NodeClaim | undefined): string | undefined {
  const owner = node.metadata.ownerReferences?.find(({ kind }) => kind === 'NodeClaim');
  return claim?.metadata.name ?? owner?.name;
}

function newestFirst(a: Pod, b: Pod): number {
  return (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? '');
}
