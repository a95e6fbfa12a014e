/** What `nodegap remediate --dry-run` tells, as data: the contract of its `-o json` (docs/remediate.md). */
import { isoTime } from '../clock.ts';
import { faultsOf, faultText, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import { conditionOf } from '../kubernetes/objects.ts';
import type { Foreseen, ForeseenCaps, Stop } from '../remediation/foresight.ts';
import { nodeKindOf } from '../remediation/replacement.ts';
import { numbersIn } from '../safety/breaker.ts';
import { anyMark } from '../safety/ownership.ts';
import { labelOf } from '../safety/scope.ts';
import { countsFor } from '../safety/scope-counts.ts';
import { type PlannedPods, plannedPods } from './planned-pods.ts';
import { type PlannedStep, stepsOf } from './planned-steps.ts';

export interface PlannedFault {
  /** `namespace/name` of the DaemonSet, or `condition TYPE`. */
  subject: string;
  /** The subject in words, with status and reason of a condition. */
  text: string;
  cause: string;
  blame: string;
  /** Why that blame, a sentence. */
  blameReason: string;
  /** ISO 8601, UTC. */
  since: string;
  message: string;
  /** The furthest that nodegap would go for it. */
  ceiling: string;
  /** The attempt would be about it. */
  primary: boolean;
}

export interface PlannedScope {
  /** For example `pool general`. */
  scope: string;
  unhealthy: number;
  total: number;
  limit: number;
  /** The numbers in words, with where the limit comes from. */
  text: string;
  /** At most 20. */
  unhealthyNodes: string[];
}

/** Keys are only ever added to this. */
export interface RemediationPlan {
  cluster: string;
  node: string;
  nodeUid: string;
  /** ISO 8601, UTC. */
  now: string;
  /** Something would be done to the node. */
  wouldAct: boolean;
  /** Why, or why not: see docs/reason-codes.md. */
  code: string;
  message: string;
  /** The state at which the attempt would end, when it would end before it does anything. */
  stoppedAt?: Stop['state'];
  /** ISO 8601, UTC: when the reason may be gone, where that is known. */
  retryAt?: string;
  /** The reason passes by itself, and `nodegap remediate` waits for that. */
  waits?: true;
  episode: number;
  attempt: number;
  pool?: string;
  zone?: string;
  kind: string;
  claim?: string;
  createdAt?: string;
  ready: boolean;
  /** What nodegap, this installation or another, has done to the node already. */
  isolated?: { by: string; since: string; cordoned: boolean; tainted: boolean };
  faults: PlannedFault[];
  breaker: PlannedScope[];
  caps: ForeseenCaps;
  /** In order. Where the attempt would stop, what would follow otherwise; empty when nothing would. */
  steps: PlannedStep[];
  /** What a drain would do with the pods of the node now; absent when the node is gone. */
  pods?: PlannedPods;
}

/** The plan from what was foreseen, which was read at `now` (epoch ms). */
export function remediationPlan(foreseen: Foreseen, now: number): RemediationPlan {
  const { situation, state, confirm, stop, drain } = foreseen;
  const { node, claim, place, counts } = situation;
  const found = claim.kind === 'found' ? claim.claim : undefined;
  const mark = node === undefined ? undefined : anyMark(node);
  const steps = stepsOf(foreseen, now);
  const waits = stop?.ripens === true && foreseen.work !== undefined;
  return {
    cluster: state.cluster,
    node: state.node,
    nodeUid: state.nodeUid,
    now: isoTime(now),
    wouldAct: stop === undefined || waits,
    code: stop?.code ?? confirm.code,
    message: stop?.message ?? confirm.message,
    ...(stop === undefined ? {} : { stoppedAt: stop.state }),
    ...(stop?.retryAt === undefined ? {} : { retryAt: isoTime(stop.retryAt) }),
    ...(waits ? { waits } : {}),
    episode: state.episode,
    attempt: state.attempt,
    ...place,
    kind: node === undefined ? 'unknown' : nodeKindOf(node, found),
    ...(found === undefined ? {} : { claim: found.metadata.name }),
    ...(node?.metadata.creationTimestamp === undefined
      ? {}
      : { createdAt: node.metadata.creationTimestamp }),
    ready: conditionOf(node?.status.conditions, 'Ready')?.status === 'True',
    ...(mark === undefined
      ? {}
      : {
          isolated: {
            by: mark.execution,
            since: mark.at,
            cordoned: mark.cordoned,
            tainted: mark.tainted,
          },
        }),
    faults: faultsIn(foreseen),
    breaker: countsFor(counts, place).map((count) => ({
      scope: labelOf(count),
      unhealthy: count.unhealthy,
      total: count.total,
      limit: count.limit,
      text: numbersIn(count),
      unhealthyNodes: count.unhealthyNodes,
    })),
    caps: foreseen.caps,
    steps,
    ...(drain === undefined ? {} : { pods: plannedPods(drain) }),
  };
}

/** All faults of the node in required DaemonSets and named conditions, the primary one first. */
function faultsIn({ situation, state, work }: Foreseen): PlannedFault[] {
  const { detection } = situation;
  const primary = work?.act.primary;
  const own = faultsOf(detection).filter(
    ({ nodeUid, required }) => nodeUid === state.nodeUid && required,
  );
  const isPrimary = (fault: Fault) =>
    primary !== undefined && subjectOf(fault) === subjectOf(primary);
  return own
    .toSorted((a, b) => Number(isPrimary(b)) - Number(isPrimary(a)))
    .map((fault) => ({
      subject: subjectOf(fault),
      text: faultText(fault),
      cause: fault.cause,
      blame: fault.blame,
      blameReason: fault.blameReason,
      since: isoTime(fault.since),
      message: fault.message,
      ceiling: fault.ceiling,
      primary: isPrimary(fault),
    }));
}
