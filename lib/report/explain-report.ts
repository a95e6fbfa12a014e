/** The result of `nodegap explain` as data: the contract of `-o json` and `-o yaml` (docs/cli.md). */
import { isoTime } from '../clock.ts';
import type { Config, Mode } from '../config/model.ts';
import type { Blame, Cause, Evidence, Requirement } from '../gap/model.ts';
import { isReady } from '../gap/readiness.ts';
import { keepsPodsOut, taintText } from '../gap/tolerations.ts';
import { conditionOf, type Pod } from '../kubernetes/objects.ts';
import type { FaultVerdict, GapVerdict } from '../remediation/actionable.ts';
import type { DrainPlan } from '../remediation/drain-plan.ts';
import type { NodeKind } from '../remediation/replacement.ts';
import { anyMark, type IsolationMark } from '../safety/ownership.ts';
import { type DrainGroup, drainGroups } from './drain-lines.ts';
import { isNodeUnknown, type NodeExplanation, type PairExplanation } from './explain.ts';
import { timesOf } from './explain-times.ts';
import { lookFurther } from './look-further.ts';
import type { PlanStep } from './plan.ts';
import {
  type ReportedConditionFault,
  type ReportedCrossCheck,
  type ReportedUnknown,
  reportedConditionFault,
  reportedCrossCheck,
  reportedUnknown,
} from './scan-report.ts';
import type { ShouldRun } from './should-run.ts';

export interface ReportedNode {
  name: string;
  uid: string;
  providerId?: string;
  kind: NodeKind;
  nodeClaim?: string;
  pool?: string;
  zone?: string;
  /** ISO 8601, as all times. */
  createdAt?: string;
  /** `unknown` when nothing can be said of it, see the top-level `unknown`. */
  state: 'ready' | 'not-ready' | 'unknown' | 'left-out';
  cordoned: boolean;
  /** Those that keep pods out, `key=value:effect`. */
  taints: string[];
  leftOut?: { kind: 'fargate' | 'hybrid' | 'leaving'; reason: string; evidence: Evidence[] };
  /** What nodegap did to it. */
  isolation?: IsolationMark;
  evidence: Evidence[];
}

export interface ReportedPod {
  name: string;
  uid: string;
  phase?: string;
  reason?: string;
  ready: boolean;
  terminating: boolean;
  scheduled: boolean;
  createdAt?: string;
  restarts: number;
  revision?: string;
}

export interface ReportedGapDetails {
  cause: Cause;
  otherCauses: Cause[];
  blame: Blame;
  blameReason: string;
  blameEvidence: Evidence[];
  since: string;
  graceEndsAt?: string;
  pastGrace: boolean;
  /** Before this it is not confirmed, however many scans have seen it. */
  confirmedFrom?: string;
  confirmed: boolean;
}

export interface ReportedAction {
  /** `wait`: it may come by the mere passing of time. */
  would: 'act' | 'wait' | 'nothing';
  /** Why not, see docs/reason-codes.md. */
  code?: string;
  message?: string;
  /** This node alone, to find out whose fault it is. */
  canary?: boolean;
  steps: { name: string; detail: string }[];
}

export interface ReportedPair {
  /** `namespace/name`. */
  daemonSet: string;
  verdict: 'gap' | 'unknown' | 'settling' | 'ok' | 'not-eligible';
  /** Code of what is unknown. */
  reason?: string;
  message: string;
  /** Absent for one that is not required. */
  required?: Requirement;
  evidence: Evidence[];
  shouldRun: ShouldRun;
  pods: ReportedPod[];
  gap?: ReportedGapDetails;
  action?: ReportedAction;
  crossCheck: ReportedCrossCheck;
  /** kubectl commands. */
  lookFurther: string[];
}

/** Keys are only ever added to this. */
export interface ExplainReport {
  cluster: string;
  now: string;
  mode: Mode;
  node: ReportedNode;
  unknown: ReportedUnknown[];
  /** Node conditions that are faults. Absent when there are none. */
  conditionFaults?: (ReportedConditionFault & { action: ReportedAction })[];
  /** Gaps first, then by name. */
  daemonSets: ReportedPair[];
  /** Absent for a node that is left out. */
  drain?: { groups: DrainGroup[] } | { unread: string };
  settings: Omit<Config, 'clusters' | 'networks' | 'requiredDaemonSets'>;
}

export interface ExplainReportOptions {
  cluster: string;
  /** Epoch ms. */
  now: number;
  mode: Mode;
  config: Config;
  /** For the kubectl commands; the current context when absent. */
  context: string | undefined;
  drain: DrainPlan | { unread: string };
}

/** The explanation as data; durations of `settings` are seconds. */
export function explainReport(
  explanation: NodeExplanation,
  options: ExplainReportOptions,
): ExplainReport {
  const { cluster, now, mode, config, drain } = options;
  const { clusters, networks, requiredDaemonSets, ...settings } = config;
  return {
    cluster,
    now: isoTime(now),
    mode,
    node: reportedNode(explanation),
    unknown: explanation.unknown.map(reportedUnknown),
    ...(explanation.conditions.length === 0
      ? {}
      : {
          conditionFaults: explanation.conditions.map(({ verdict, plan }) => ({
            ...reportedConditionFault(verdict),
            action: actionOf(verdict, plan),
          })),
        }),
    daemonSets: explanation.pairs.map((pair) => reportedPair(pair, options)),
    ...(explanation.leftOut === undefined
      ? { drain: 'unread' in drain ? { unread: drain.unread } : { groups: drainGroups(drain) } }
      : {}),
    settings,
  };
}

function reportedNode(explanation: NodeExplanation): ReportedNode {
  const { node, kind, claim, pool, zone, leftOut, evidence } = explanation;
  const { name, uid, creationTimestamp } = node.metadata;
  const { providerID, unschedulable, taints = [] } = node.spec;
  const isolation = anyMark(node);
  return {
    name,
    uid,
    ...(providerID === undefined ? {} : { providerId: providerID }),
    kind,
    ...(claim === undefined ? {} : { nodeClaim: claim }),
    ...(pool === undefined ? {} : { pool }),
    ...(zone === undefined ? {} : { zone }),
    ...(creationTimestamp === undefined ? {} : { createdAt: creationTimestamp }),
    state: stateOf(explanation),
    cordoned: unschedulable === true,
    taints: taints.filter(keepsPodsOut).map(taintText),
    ...(leftOut === undefined ? {} : { leftOut }),
    ...(isolation === undefined ? {} : { isolation }),
    evidence,
  };
}

function stateOf({ node, leftOut, unknown }: NodeExplanation): ReportedNode['state'] {
  if (leftOut !== undefined) return 'left-out';
  if (isNodeUnknown(unknown)) return 'unknown';
  const ready = conditionOf(node.status.conditions, 'Ready');
  return ready?.status === 'True' ? 'ready' : 'not-ready';
}

function reportedPair(pair: PairExplanation, options: ExplainReportOptions): ReportedPair {
  const { daemonSet, requirement, evidence, shouldRun, pods, state, crossCheck } = pair;
  const gap = state.kind === 'gap' ? state.verdict.gap : undefined;
  return {
    daemonSet,
    ...verdictOf(pair),
    ...(requirement === undefined ? {} : { required: requirement }),
    evidence,
    shouldRun,
    pods: pods.map(reportedPod),
    ...(state.kind === 'gap'
      ? { gap: gapDetails(state.verdict, options), action: actionOf(state.verdict, pair.plan) }
      : {}),
    crossCheck: reportedCrossCheck(crossCheck),
    lookFurther: gap === undefined ? [] : lookFurther(gap, options.context),
  };
}

function verdictOf({
  state,
}: PairExplanation): Pick<ReportedPair, 'verdict' | 'reason' | 'message'> {
  switch (state.kind) {
    case 'gap':
      return { verdict: 'gap', message: state.verdict.gap.message };
    case 'deferred':
      return { verdict: 'unknown', reason: state.reason, message: state.message };
    case 'settling':
      return { verdict: 'settling', message: 'Ready, and about to count as available' };
    case 'ok':
    case 'covered':
      return { verdict: 'ok', message: 'Running and Ready' };
    case 'not-eligible':
      return { verdict: 'not-eligible', message: state.reason };
  }
}

function reportedPod(pod: Pod): ReportedPod {
  const { name, uid, creationTimestamp, deletionTimestamp, labels } = pod.metadata;
  const { phase, reason, initContainerStatuses = [], containerStatuses = [] } = pod.status;
  const revision = labels?.['controller-revision-hash'];
  return {
    name,
    uid,
    ...(phase === undefined ? {} : { phase }),
    ...(reason === undefined ? {} : { reason }),
    ready: isReady(pod),
    terminating: deletionTimestamp !== undefined,
    scheduled: (pod.spec.nodeName ?? '') !== '',
    ...(creationTimestamp === undefined ? {} : { createdAt: creationTimestamp }),
    restarts: [...initContainerStatuses, ...containerStatuses].reduce(
      (sum, { restartCount = 0 }) => sum + restartCount,
      0,
    ),
    ...(revision === undefined ? {} : { revision }),
  };
}

function gapDetails({ gap }: GapVerdict, { config }: ExplainReportOptions): ReportedGapDetails {
  const { cause, otherCauses, blame, blameReason, blameEvidence, pastGrace, confirmed } = gap;
  const { graceEndsAt, confirmedFrom } = timesOf(gap, config);
  return {
    cause,
    otherCauses,
    blame,
    blameReason,
    blameEvidence,
    since: isoTime(gap.since),
    ...(graceEndsAt === undefined ? {} : { graceEndsAt: isoTime(graceEndsAt) }),
    pastGrace,
    ...(confirmedFrom === undefined ? {} : { confirmedFrom: isoTime(confirmedFrom) }),
    confirmed,
  };
}

function actionOf(verdict: FaultVerdict, plan: readonly PlanStep[]): ReportedAction {
  const steps = plan.map(({ name, detail }) => ({ name, detail }));
  if (verdict.kind === 'actionable') return { would: 'act', canary: verdict.canary, steps };
  const { passing, code, message } = verdict;
  return { would: passing ? 'wait' : 'nothing', code, message, steps };
}
