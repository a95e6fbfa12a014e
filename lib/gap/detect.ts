import type { DaemonSet } from '../kubernetes/objects.ts';
import { keyOf } from '../kubernetes/objects.ts';
import type {
  ClusterFacts,
  Detection,
  DetectionPolicy,
  Gap,
  GapRecord,
  PairState,
  UnknownEntry,
} from './model.ts';
import { HEARTBEAT_STALE, statesOf } from './pair-state.ts';
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
  const unknown: UnknownEntry[] = staleNodes(survey);
  let eligiblePairs = 0;
  let eventsMissed = 0;
  for (const daemonSet of facts.daemonSets) {
    if (!policy.allDaemonSets && policy.requirementOf(daemonSet) === undefined) continue;
    const judged = statesOf(survey, daemonSet);
    eventsMissed += judged.eventsMissed;
    judged.states.forEach((state, index) => {
      if (state.kind !== 'not-eligible') eligiblePairs += 1;
      if (state.kind === 'gap') gaps.push(state.gap);
      // A stale node is one entry, however many DaemonSets it has.
      if (state.kind === 'deferred' && state.reason !== HEARTBEAT_STALE) {
        unknown.push(deferredEntry(survey, index, judged.key, state));
      }
    });
  }
  if (eventsMissed > 0 && !facts.events.ok) {
    unknown.push({
      reason: 'events-unavailable',
      message: `events could not be read (${facts.events.reason}): they might tell the cause of ${count(eventsMissed, 'gap')}`,
    });
  }
  const counted = survey.nodes.filter(({ leftOut }) => leftOut === undefined);
  return {
    cluster: facts.cluster,
    now,
    gaps: gaps.sort(byNodeThenDaemonSet),
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

function staleNodes(survey: Survey): UnknownEntry[] {
  return survey.nodes.flatMap(({ node: { metadata }, leftOut, health }) =>
    leftOut === undefined && health.kind === HEARTBEAT_STALE
      ? [
          {
            node: metadata.name,
            nodeUid: metadata.uid,
            reason: HEARTBEAT_STALE,
            message: health.message,
          },
        ]
      : [],
  );
}

function deferredEntry(
  survey: Survey,
  index: number,
  daemonSet: string,
  { reason, message }: { reason: string; message: string },
): UnknownEntry {
  const metadata = survey.nodes[index]?.node.metadata;
  return {
    ...(metadata === undefined ? {} : { node: metadata.name, nodeUid: metadata.uid }),
    daemonSet,
    reason,
    message,
  };
}

function byNodeThenDaemonSet(
  a: { node?: string; daemonSet?: string },
  b: { node?: string; daemonSet?: string },
): number {
  return compare(a.node ?? '', b.node ?? '') || compare(a.daemonSet ?? '', b.daemonSet ?? '');
}

/** By code unit, so that the order does not depend on a locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
