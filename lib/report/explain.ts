/** Everything that `nodegap explain` knows about a node and its DaemonSets, as data. */

import type { Config } from '../config/model.ts';
import { requirementOf } from '../config/required.ts';
import { pairStateOf } from '../gap/detect.ts';
import type {
  ClusterFacts,
  Detection,
  DetectionPolicy,
  PairState,
  Requirement,
  UnknownEntry,
} from '../gap/model.ts';
import { leftOut, poolOf, zoneOf } from '../gap/node-kinds.ts';
import { daemonSetUidOf, targetNodeOf } from '../gap/pod-target.ts';
import {
  type DaemonSet,
  keyOf,
  type Node,
  type NodeClaim,
  type Pod,
} from '../kubernetes/objects.ts';
import { claimFinder, type GapVerdict } from '../remediation/actionable.ts';
import { type NodeKind, nodeKindOf } from '../remediation/replacement.ts';
import { type PlanStep, plannerFor } from './plan.ts';
import { explainShouldRun, type ShouldRun } from './should-run.ts';

export interface PairExplanation {
  /** `namespace/name`. */
  daemonSet: string;
  requirement: Requirement | undefined;
  shouldRun: ShouldRun;
  /** Pods of the DaemonSet that are on the node or for it. */
  pods: Pod[];
  state: Exclude<PairState, { kind: 'gap' }> | { kind: 'gap'; verdict: GapVerdict };
  /** What nodegap would do, empty when nothing. */
  plan: PlanStep[];
}

export interface NodeExplanation {
  node: Node;
  kind: NodeKind;
  claim: string | undefined;
  pool: string | undefined;
  zone: string | undefined;
  /** Why the node is not looked at, when it is not. */
  leftOut: string | undefined;
  /** What is unknown about the node or the whole read. */
  unknown: UnknownEntry[];
  pairs: PairExplanation[];
}

/** Explains the pairs of `node` with `daemonSets`: gaps first, then by name. */
export function explainNode(input: {
  facts: ClusterFacts;
  policy: DetectionPolicy;
  /** Of all DaemonSets, not only the required ones. */
  detection: Detection;
  verdicts: readonly GapVerdict[];
  config: Config;
  node: Node;
  daemonSets: readonly DaemonSet[];
}): NodeExplanation {
  const { facts, detection, config, node } = input;
  const { name, uid } = node.metadata;
  const claim = claimFinder(facts)(node);
  const planOf = plannerFor(facts, config);
  const pairs = input.daemonSets.map((daemonSet): PairExplanation => {
    const daemonSetKey = keyOf(daemonSet);
    const verdict = input.verdicts.find(
      ({ gap }) => gap.nodeUid === uid && gap.daemonSetUid === daemonSet.metadata.uid,
    );
    return {
      daemonSet: daemonSetKey,
      requirement: requirementOf(config, daemonSet),
      shouldRun: explainShouldRun(node, daemonSet, config.startupTaints),
      pods: podsOf(facts, node, daemonSet),
      state:
        verdict === undefined ? stateWithoutGap(input, daemonSetKey) : { kind: 'gap', verdict },
      plan: verdict?.kind === 'actionable' ? planOf(verdict) : [],
    };
  });
  return {
    node,
    kind: nodeKindOf(node, claim),
    claim: claimNameOf(node, claim),
    pool: poolOf(node),
    zone: zoneOf(node),
    leftOut: leftOut(node, claim)?.reason,
    unknown: detection.unknown.filter(
      (entry) => entry.daemonSet === undefined && (entry.node ?? name) === name,
    ),
    pairs: pairs.sort((a, b) => rank(a) - rank(b) || (a.daemonSet < b.daemonSet ? -1 : 1)),
  };
}

function stateWithoutGap(
  { facts, policy, detection, node }: Parameters<typeof explainNode>[0],
  daemonSet: string,
): Exclude<PairState, { kind: 'gap' }> {
  const state = pairStateOf(facts, policy, detection.now, node.metadata.name, daemonSet);
  if (state === undefined || state.kind === 'gap') {
    throw new TypeError(`${daemonSet} on ${node.metadata.name} is not judged as the detection did`);
  }
  return state;
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

/** Newest first. */
function podsOf(facts: ClusterFacts, node: Node, daemonSet: DaemonSet): Pod[] {
  return facts.pods
    .filter(
      (pod) =>
        daemonSetUidOf(pod) === daemonSet.metadata.uid && targetNodeOf(pod) === node.metadata.name,
    )
    .sort((a, b) =>
      (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
    );
}
