import type { DaemonSet } from '../kubernetes/objects.ts';
import { keyOf } from '../kubernetes/objects.ts';
import { conditionFaultsOf } from './condition-faults.ts';
import { isLookedAt } from './looked-at.ts';
import type {
  ClusterFacts,
  ConditionFault,
  Detection,
  DetectionPolicy,
  Fault,
  Gap,
  GapRecord,
  PairState,
  UnknownEntry,
} from './model.ts';
import { isOfKarpenter } from './node-kinds.ts';
import { statesOf } from './pair-state.ts';
import { type Survey, surveyOf } from './survey.ts';
import { count } from './words.ts';

/**
 * Finds the gaps of a cluster at `now` (epoch ms): pure, and linear in nodes × DaemonSets.
 *
 * Looks at the DaemonSets that the policy requires, or at all. `records` are the gap records of
 * earlier scans under `pairKey`; without them ages come from node and pod times and every gap
 * counts as confirmed.
 */
export function detect(
  facts: ClusterFacts,
  policy: DetectionPolicy,
  now: number,
  records?: ReadonlyMap<string, GapRecord>,
): Detection {
  const survey = surveyOf(facts, policy, now, records);
  const gaps: Gap[] = [];
  const unknown: UnknownEntry[] = silentNodes(survey);
  let eligiblePairs = 0;
  let eventsMissed = 0;
  for (const daemonSet of facts.daemonSets) {
    if (!isLookedAt(daemonSet, policy)) continue;
    const judged = statesOf(survey, daemonSet);
    eventsMissed += judged.eventsMissed;
    judged.states.forEach((state, index) => {
      if (state.kind !== 'not-eligible') eligiblePairs += 1;
      if (state.kind === 'gap') gaps.push(state.gap);
      // A silent node is one entry, however many DaemonSets it has.
      if (state.kind === 'deferred' && survey.nodes[index]?.health.kind !== 'silent') {
        unknown.push(deferredEntry(survey, index, judged.key, state));
      }
    });
  }
  if (eventsMissed > 0 && !facts.events.ok) {
    unknown.push({
      reason: 'events-unavailable',
      message: `events could not be read (${facts.events.reason}): they might tell the cause of ${count(eventsMissed, 'gap')}`,
      evidence: [
        {
          object: 'events',
          field: 'list',
          value: facts.events.reason,
          wouldChange: 'they can be read, or a dump holds them',
        },
      ],
    });
  }
  const conditions = conditionFaultsOf(survey);
  unknown.push(...conditions.unknown);
  unknown.push(...unseenClaims(survey, [...gaps, ...conditions.faults]));
  const counted = survey.nodes.filter(({ leftOut }) => leftOut === undefined);
  return {
    cluster: facts.cluster,
    now,
    gaps: gaps.sort(byNodeThenDaemonSet),
    ...(policy.conditions === undefined
      ? {}
      : { conditionFaults: conditions.faults.sort(byNodeThenSubject) }),
    unknown: unknown.sort(byNodeThenDaemonSet),
    nodes: counted.length,
    eligiblePairs,
    leftOut: survey.nodes
      .flatMap(({ node: { metadata }, leftOut }) =>
        leftOut === undefined ? [] : [{ node: metadata.name, nodeUid: metadata.uid, ...leftOut }],
      )
      .sort(byNodeThenDaemonSet),
  };
}

/**
 * The state of one pair, required or not, judged against the whole cluster as `detect` does.
 * `daemonSet` is `namespace/name`. Undefined when the cluster has no such node or DaemonSet.
 */
export function pairStateOf(
  facts: ClusterFacts,
  policy: DetectionPolicy,
  now: number,
  node: string,
  daemonSet: string,
  records?: ReadonlyMap<string, GapRecord>,
): PairState | undefined {
  const index = facts.nodes.findIndex(({ metadata }) => metadata.name === node);
  const found: DaemonSet | undefined = facts.daemonSets.find((each) => keyOf(each) === daemonSet);
  if (index < 0 || found === undefined) return undefined;
  return statesOf(surveyOf(facts, policy, now, records), found).states[index];
}

/**
 * The states of one node's pairs with `daemonSets`, in their order, each as `pairStateOf` gives it.
 * Empty when the cluster has no such node.
 */
export function statesOnNode(
  facts: ClusterFacts,
  policy: DetectionPolicy,
  now: number,
  node: string,
  daemonSets: readonly DaemonSet[],
): PairState[] {
  const index = facts.nodes.findIndex(({ metadata }) => metadata.name === node);
  const survey = surveyOf(facts, policy, now, undefined);
  return daemonSets.flatMap((daemonSet) => {
    const state = statesOf(survey, daemonSet).states[index];
    return state === undefined ? [] : [state];
  });
}

/** A node whose NodeClaim is being deleted is left out, when that can be seen. */
function unseenClaims({ facts, nodes }: Survey, gaps: readonly Fault[]): UnknownEntry[] {
  const { nodeClaims } = facts;
  if (nodeClaims.ok || nodeClaims.notAsked || gaps.length === 0) return [];
  const inTrouble = new Set(gaps.map(({ nodeUid }) => nodeUid));
  const affected = nodes.filter(
    ({ node }) => inTrouble.has(node.metadata.uid) && isOfKarpenter(node),
  );
  if (affected.length === 0) return [];
  return [
    {
      reason: 'nodeclaims-unavailable',
      message: `NodeClaims could not be read (${nodeClaims.reason}): ${count(affected.length, 'node')} with a gap may be on the way out already`,
      evidence: [
        {
          object: 'nodeclaims.karpenter.sh',
          field: 'list',
          value: nodeClaims.reason,
          wouldChange: 'they can be read',
        },
      ],
    },
  ];
}

function silentNodes(survey: Survey): UnknownEntry[] {
  return survey.nodes.flatMap(({ node: { metadata }, leftOut, health }) => {
    if (leftOut !== undefined || health.kind !== 'silent') return [];
    const { reason, message, evidence } = health;
    return [{ node: metadata.name, nodeUid: metadata.uid, reason, message, evidence }];
  });
}

function deferredEntry(
  survey: Survey,
  index: number,
  daemonSet: string,
  { reason, message, evidence }: Extract<PairState, { kind: 'deferred' }>,
): UnknownEntry {
  const metadata = survey.nodes[index]?.node.metadata;
  return {
    ...(metadata === undefined ? {} : { node: metadata.name, nodeUid: metadata.uid }),
    daemonSet,
    reason,
    message,
    evidence,
  };
}

function byNodeThenDaemonSet(
  a: { node?: string; daemonSet?: string },
  b: { node?: string; daemonSet?: string },
): number {
  return compare(a.node ?? '', b.node ?? '') || compare(a.daemonSet ?? '', b.daemonSet ?? '');
}

function byNodeThenSubject(a: ConditionFault, b: ConditionFault): number {
  return compare(a.node, b.node) || compare(a.condition.type, b.condition.type);
}

/** By code unit, so that the order does not depend on a locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
