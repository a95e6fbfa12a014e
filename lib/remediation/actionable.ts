/**
 * What would be done about each gap of one read, and why not where nothing would. Used by the scan,
 * by `nodegap scan` and by `nodegap explain`.
 *
 * It answers for the whole cluster what judge.ts answers for one node of a running attempt, from
 * the same parts: standing of the gap, vetoes of the node, breaker of its scopes.
 */
import type { Config } from '../config/model.ts';
import { faultsOf } from '../gap/fault.ts';
import type { ClusterFacts, ConditionFault, Detection, Fault, Gap } from '../gap/model.ts';
import { leftOut, poolOf, zoneOf } from '../gap/node-kinds.ts';
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import {
  type BreakerState,
  countScopes,
  countsFor,
  judgeBreaker,
  type NodeInWork,
  type ScopeCount,
} from '../safety/breaker.ts';
import { anyMark } from '../safety/ownership.ts';
import { judgePace } from '../safety/reopening.ts';
import { scopesContaining } from '../safety/scope.ts';
import { vetoOf } from '../safety/vetoes.ts';
import { doubtAboutOthers, type Others, remediationOf } from './others.ts';
import { deferral } from './replaceable.ts';
import { claimOf } from './replacement.ts';
import { standingOf } from './standing.ts';

/** A fault, `gap`, with the answer to "would nodegap act on it now?". */
export type FaultVerdict<F extends Fault = Fault> =
  /** `canary`: the blame is unclear, and this node alone is taken to find out. */
  | { kind: 'actionable'; gap: F; canary: boolean }
  | {
      kind: 'not-actionable';
      gap: F;
      /** Stable, see docs/reason-codes.md. */
      code: string;
      message: string;
      /** It may become actionable by the mere passing of time or the work of nodegap itself. */
      passing: boolean;
    };

export type GapVerdict = FaultVerdict<Gap>;
export type ConditionVerdict = FaultVerdict<ConditionFault>;

/** What is known beyond one read of the cluster; a dump or a plain scan has nothing of it. */
export interface BeyondTheRead {
  /** Whose isolation marks are our own; every readable mark when absent. */
  installation?: string;
  breakerStates?: readonly BreakerState[];
  inWork?: readonly NodeInWork[];
  /** Why a node is on its way out, as events from outside the cluster told. */
  leavingReason?(node: Node): string | undefined;
  /** What others say of nodes, and do about them. */
  others?: Others;
  /** Why the read as a whole is not believed. */
  observer?: { code: string; message: string } | undefined;
}

/**
 * A verdict for each gap of `detection`, in its order. `now` is epoch ms.
 *
 * Actionable is a gap of a required DaemonSet whose ceiling is above alert, past its grace and
 * confirmed, with a cause that has a ladder, blamed on the node (or without a culprit, on the one
 * node taken as canary), on a node that nobody vetoes, in scopes whose breaker is closed.
 */
export function actionableGaps(
  detection: Detection,
  facts: ClusterFacts,
  config: Config,
  now: number,
  beyond: BeyondTheRead = {},
): GapVerdict[] {
  return verdictsOf(detection.gaps, detection, facts, config, now, beyond);
}

/** The same for each node condition of `detection` that is a fault. */
export function actionableConditions(
  detection: Detection,
  facts: ClusterFacts,
  config: Config,
  now: number,
  beyond: BeyondTheRead = {},
): ConditionVerdict[] {
  return verdictsOf(detection.conditionFaults ?? [], detection, facts, config, now, beyond);
}

function verdictsOf<F extends Fault>(
  faults: readonly F[],
  detection: Detection,
  facts: ClusterFacts,
  config: Config,
  now: number,
  beyond: BeyondTheRead,
): FaultVerdict<F>[] {
  if (faults.length === 0) return [];
  const claimFor = claimFinder(facts);
  const counts = scopeCountsOf(detection, facts, config, beyond.inWork ?? []);
  const nodes = new Map(facts.nodes.map((node) => [node.metadata.uid, node]));
  const all = faultsOf(detection);
  return faults.map((gap): FaultVerdict<F> => {
    const standing = standingOf(gap, all, beyond.others?.notReady);
    const no = (code: string, message: string, passing: boolean): FaultVerdict<F> => {
      return { kind: 'not-actionable', gap, code, message, passing };
    };
    if (standing.kind === 'never') return no(standing.code, standing.message, false);
    const node = nodes.get(gap.nodeUid);
    if (node === undefined) return no('node-gone', 'the node is not there any more', false);
    const leaving = beyond.leavingReason?.(node);
    const remediation = remediationOf(node, beyond.others);
    const veto = vetoOf(node, claimFor(node), {
      installation: beyond.installation ?? anyMark(node)?.installation ?? '',
      ...(leaving === undefined ? {} : { leaving }),
      ...(remediation === undefined ? {} : { remediation }),
    });
    if (veto !== undefined) return no(veto.code, veto.message, false);
    const deferred = deferral(node, claimFor(node), config.replacement);
    if (deferred !== undefined) return no(deferred.code, deferred.message, false);
    if (standing.kind === 'not-yet') return no(standing.code, standing.message, true);
    const doubt = beyond.observer ?? doubtAboutOthers(beyond.others);
    if (doubt !== undefined) return no(doubt.code, doubt.message, true);
    const states = beyond.breakerStates ?? [];
    const scopes = countsFor(counts, gap);
    const breaker = judgeBreaker(scopes, states, now, config.breaker.coolDown * 1000);
    if (breaker.kind === 'open') return no(breaker.code, breaker.message, true);
    const isNew = !beyond.inWork?.some(({ nodeUid }) => nodeUid === gap.nodeUid);
    const pace = isNew ? judgePace(scopesContaining(gap), states, now, config.breaker) : undefined;
    if (pace !== undefined) return no(pace.code, pace.message, true);
    return { kind: 'actionable', gap, canary: standing.canary };
  });
}

/** The counts of every pool, zone and the cluster that the breaker judges. */
export function scopeCountsOf(
  detection: Detection,
  facts: ClusterFacts,
  config: Config,
  inWork: readonly NodeInWork[],
): ScopeCount[] {
  const claimFor = claimFinder(facts);
  const { breaker } = config;
  return countScopes({
    nodes: facts.nodes,
    gaps: faultsOf(detection),
    inWork: [...inWork],
    percent: breaker.maxUnhealthyPercent,
    ...(breaker.maxUnhealthyNodes === undefined ? {} : { most: breaker.maxUnhealthyNodes }),
    zoneAtLeast: breaker.unhealthyInOneZone,
    isCounted: (node) => leftOut(node, claimFor(node)) === undefined,
    poolOf,
    zoneOf,
    now: detection.now,
    nodeGraceMs: config.timings.nodeGrace * 1000,
  });
}

/** Finds the NodeClaim of a node, when exactly one can be named. */
export function claimFinder(facts: ClusterFacts): (node: Node) => NodeClaim | undefined {
  const byProvider = new Map<string, NodeClaim[]>();
  for (const claim of facts.nodeClaims.ok ? facts.nodeClaims.items : []) {
    const { providerID = '' } = claim.status;
    const same = byProvider.get(providerID);
    if (same === undefined) byProvider.set(providerID, [claim]);
    else same.push(claim);
  }
  return (node) => {
    const match = claimOf(node, byProvider.get(node.spec.providerID ?? '') ?? []);
    return match.kind === 'found' ? match.claim : undefined;
  };
}
