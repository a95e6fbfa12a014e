/**
 * The state of every pair of one DaemonSet, in the order of the survey's nodes.
 *
 * How it works: first each node by itself (covered, not eligible, deferred, or open), then, knowing
 * how many are open, the cause of each open one, then, knowing all causes, the blame of each. A
 * single pair cannot be judged alone: rollout and blame look at the other nodes.
 */
import { type DaemonSet, keyOf, type Pod } from '../kubernetes/objects.ts';
import { blameOf } from './blame.ts';
import { type CauseVerdict, causeOf } from './cause.ts';
import {
  type CompiledDaemonSet,
  compileDaemonSet,
  intentOf,
  type LookedPastTaint,
} from './eligibility.ts';
import { podEvidence } from './finding.ts';
import type { Cause, CoveredNodes, Gap, GapPod, PairState, Requirement } from './model.ts';
import { taintEvidence } from './node-findings.ts';
import { Peers } from './peers.ts';
import { isFinished, type Readiness, readinessOf, saysNothing } from './readiness.ts';
import { archOf } from './revision-view.ts';
import { revisionOf, rolloutOf, updateDeadlineMs } from './rollout.ts';
import type { NodeView, PodsByNode, Survey } from './survey.ts';
import { type GapTimes, taintedAt, timesOf } from './timing.ts';
import { taintText } from './tolerations.ts';

/** Unknown-entry reasons that a pair may be deferred for. */
export const NODE_INITIALISING = 'node-initialising';
export const POD_CONDITIONS_MISSING = 'pod-conditions-missing';

export interface DaemonSetStates {
  key: string;
  /** One for each node of the survey, in its order. */
  states: PairState[];
  /** Gaps whose cause events might have told, had they been readable. */
  eventsMissed: number;
}

/** A pair without a Ready pod that can be believed. */
interface OpenPair {
  kind: 'open';
  view: NodeView;
  readiness: Readiness;
  blockedBy: readonly LookedPastTaint[];
}

const noPods: readonly Pod[] = [];

type Standing = Exclude<PairState, { kind: 'gap' }> | OpenPair;

/** Causes that are no failure of the node's surroundings. */
const passing: readonly Cause[] = [
  'starting',
  'rollout',
  'config-error',
  'create-blocked',
  'untolerated-taint',
];

/** Judges all pairs of one DaemonSet. */
export function statesOf(survey: Survey, daemonSet: DaemonSet): DaemonSetStates {
  const compiled = compileDaemonSet(daemonSet);
  const { key } = compiled;
  if (daemonSet.metadata.deletionTimestamp !== undefined) {
    const state: PairState = { kind: 'not-eligible', reason: 'the DaemonSet is being deleted' };
    return { key, states: survey.nodes.map(() => state), eventsMissed: 0 };
  }
  const pods = survey.podsOf(daemonSet.metadata.uid);
  const covered = survey.coveredBy(daemonSet.metadata.uid);
  const standings = survey.nodes.map((view, index) =>
    standingOf(survey, view, compiled, pods[index] ?? noPods, covered),
  );
  // Nothing is compared while nothing is wrong: a healthy DaemonSet costs a scan next to nothing.
  const settled = standings.filter((standing) => standing.kind !== 'open');
  if (settled.length === standings.length) return { key, states: settled, eventsMissed: 0 };
  const { peers, revisions } = peersOf(survey, pods, standings);
  const judged = judgeOpen(survey, compiled, standings, peers, revisions);
  const requirement = survey.policy.requirementOf(daemonSet);
  return {
    key,
    states: judged.map((pair) =>
      pair.kind === 'judged'
        ? { kind: 'gap', gap: gapOf(survey, compiled, requirement, peers, pair) }
        : pair,
    ),
    eventsMissed: judged.filter((pair) => pair.kind === 'judged' && pair.verdict.eventsMissed)
      .length,
  };
}

/** What can be said of a pair without looking at other nodes. */
function standingOf(
  { policy, now }: Survey,
  view: NodeView,
  compiled: CompiledDaemonSet,
  pods: readonly Pod[],
  covered: CoveredNodes,
): Standing {
  if (view.leftOut !== undefined) return { kind: 'not-eligible', reason: view.leftOut.reason };
  const intent = intentOf(view.node, view.taints, compiled);
  if (intent.kind === 'not-eligible') return intent;
  if (view.health.kind === 'silent') {
    const { reason, message, evidence } = view.health;
    return { kind: 'deferred', reason, message, evidence };
  }
  if (view.health.kind === 'ready' && covered.has(view.node.metadata.name)) {
    return { kind: 'covered' };
  }
  const readiness = readinessOf(pods, compiled.daemonSet.spec.minReadySeconds ?? 0, now);
  if (view.health.kind === 'ready') {
    if (readiness.kind === 'ready') return { kind: 'ok', pod: readiness.pod };
    if (readiness.kind === 'settling') return { kind: 'settling', pod: readiness.pod };
  }
  const deferring = intent.lookedPast.find(
    ({ kind, taint }) =>
      kind === 'initialising' ||
      (kind === 'startup' && now < taintedAt(view.node, taint) + policy.nodeGraceMs),
  );
  if (deferring !== undefined) {
    return {
      kind: 'deferred',
      reason: NODE_INITIALISING,
      message: `node ${view.node.metadata.name} is still being set up: it bears taint ${taintText(deferring.taint)}`,
      evidence: [taintEvidence(view.node, deferring.taint)],
    };
  }
  if (view.health.kind === 'ready' && readiness.kind === 'unready' && saysNothing(readiness.pod)) {
    const { pod } = readiness;
    return {
      kind: 'deferred',
      reason: POD_CONDITIONS_MISSING,
      message: `pod ${keyOf(pod)} is ${pod.status.phase ?? 'without a phase'} and has no Ready condition: nothing says how it is`,
      evidence: [
        podEvidence(pod, 'status.phase', pod.status.phase),
        podEvidence(
          pod,
          'status.conditions[Ready].status',
          undefined,
          'the kubelet reports a Ready condition',
        ),
      ],
    };
  }
  return { kind: 'open', view, readiness, blockedBy: intent.lookedPast };
}

interface JudgedPair extends Omit<OpenPair, 'kind'> {
  kind: 'judged';
  verdict: CauseVerdict;
  times: GapTimes;
}

/** How all nodes fare, before the causes of the open pairs are known. */
function peersOf(
  survey: Survey,
  pods: PodsByNode,
  standings: readonly Standing[],
): { peers: Peers; revisions: Set<string> } {
  const peers = new Peers(survey.now, survey.policy.podGraceMs);
  const revisions = new Set<string>();
  survey.nodes.forEach(({ node }, index) => {
    for (const pod of pods[index] ?? noPods) {
      if (pod.metadata.deletionTimestamp !== undefined && isFinished(pod)) continue;
      peers.addPod(node.metadata.name, pod);
      const revision = revisionOf(pod);
      if (revision !== undefined && !isFinished(pod)) revisions.add(revision);
    }
    const standing = standings[index];
    if (standing?.kind === 'ok' || standing?.kind === 'settling') {
      peers.addHealthy(node, standing.pod);
    } else if (standing?.kind === 'covered') {
      peers.addCovered(node);
    }
  });
  return { peers, revisions };
}

/** Gives each open pair its times and cause, and adds it to `peers`. */
function judgeOpen(
  { policy, now, events, historyOf }: Survey,
  { daemonSet, key, tolerations }: CompiledDaemonSet,
  standings: readonly Standing[],
  peers: Peers,
  revisions: ReadonlySet<string>,
): (Exclude<Standing, OpenPair> | JudgedPair)[] {
  const timed = standings.map((pair) => {
    if (pair.kind !== 'open') return pair;
    const { node, health } = pair.view;
    const { readiness, blockedBy } = pair;
    const history = historyOf(node.metadata.uid, key);
    return {
      ...pair,
      times: timesOf({ node, health, daemonSet, readiness, blockedBy }, history, policy, now),
    };
  });
  const desired = standings.filter(({ kind }) => kind !== 'not-eligible').length;
  const rollout = rolloutOf(daemonSet, revisions, desired);
  const youngPairs = timed.filter((pair) => pair.kind === 'open' && !pair.times.pastGrace).length;
  const newestPod = peers.latestPod?.at ?? Number.NEGATIVE_INFINITY;
  return timed.map((pair) => {
    if (pair.kind !== 'open') return pair;
    const { readiness, blockedBy, times } = pair;
    const { node, health } = pair.view;
    const verdict = causeOf(
      {
        node,
        health,
        daemonSet,
        tolerations,
        readiness,
        blockedBy,
        times,
        rollout,
        youngPairs,
        newestPod,
        events,
      },
      policy,
      now,
    );
    const { cause } = verdict.primary;
    const failing = readiness.kind === 'unready' ? readiness.pod : undefined;
    peers.addGap(node, cause, times.pastGrace && !passing.includes(cause), failing);
    return { ...pair, kind: 'judged', verdict };
  });
}

function gapOf(
  { policy, now }: Survey,
  { daemonSet, key }: CompiledDaemonSet,
  requirement: Requirement | undefined,
  peers: Peers,
  { view, readiness, verdict, times }: JudgedPair,
): Gap {
  const { node, pool, zone } = view;
  const pod = readiness.kind === 'absent' ? undefined : readiness.pod;
  const { primary, others } = verdict;
  const { blame, reason, evidence } = blameOf(
    {
      finding: primary,
      daemonSet,
      node: node.metadata.name,
      zone,
      arch: archOf(node),
      revision: pod === undefined ? undefined : revisionOf(pod),
      since: times.since,
      recorded: times.recorded,
      updateDeadlineMs: updateDeadlineMs(daemonSet, policy.podGraceMs),
      now,
    },
    peers,
  );
  const otherCauses = new Set(others.map(({ cause }) => cause));
  otherCauses.delete(primary.cause);
  return {
    node: node.metadata.name,
    nodeUid: node.metadata.uid,
    ...(pool === undefined ? {} : { pool }),
    ...(zone === undefined ? {} : { zone }),
    daemonSet: key,
    daemonSetUid: daemonSet.metadata.uid,
    required: requirement !== undefined,
    ceiling: requirement?.ceiling ?? 'alert',
    cause: primary.cause,
    otherCauses: [...otherCauses],
    blame,
    blameReason: reason,
    blameEvidence: evidence,
    since: times.since,
    ...(times.graceEndsAt === undefined ? {} : { graceEndsAt: times.graceEndsAt }),
    pastGrace: times.pastGrace,
    confirmed: times.confirmed,
    ...(pod === undefined ? {} : { pod: gapPodOf(pod) }),
    message: primary.message,
    evidence: [...primary.evidence, ...others.flatMap(({ evidence }) => evidence)],
  };
}

function gapPodOf(pod: Pod): GapPod {
  const revision = revisionOf(pod);
  const statuses = [
    ...(pod.status.initContainerStatuses ?? []),
    ...(pod.status.containerStatuses ?? []),
  ];
  return {
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    ...(revision === undefined ? {} : { revision }),
    restarts: statuses.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0),
  };
}
