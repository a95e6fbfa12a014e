import type { ClusterConfig } from '../config/model.ts';
import { isConditionFault, subjectOf } from '../gap/fault.ts';
import { causes, type Fault, type UnknownEntry } from '../gap/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { Scope } from '../safety/scope.ts';
import type { RememberedFault } from './fault-store.ts';
import { type Ladder, ladderOf } from './ladder.ts';
import type { NotReadyVerdicts } from './others.ts';
import { type Standing, standingOf } from './standing.ts';

export type ActingLadder = Extract<Ladder, { kind: 'replace' }>;

/** What an attempt may do at most on this node. */
export type Reach = 'isolate' | 'replace';

/**
 * What may be done about one node on the facts of this moment.
 *
 * `refuse` ends an attempt (someone else's node, paused, breaker open, blame elsewhere). `wait`
 * says that a fault is there but not ripe: young, unconfirmed, or with a cause that may pass; or,
 * with `doubt`, that it cannot be told whether the node is well.
 */
export type Judgement =
  | {
      kind: 'act';
      /** What the node may be acted on for, conditions too. */
      gaps: Fault[];
      /** The fault that the attempt is about: the one that allows most. */
      primary: Fault;
      ladder: ActingLadder;
      reach: Reach;
      /** The blame is unclear: only as the canary of that DaemonSet. */
      canaryFor?: string;
    }
  | { kind: 'healthy'; message: string }
  | { kind: 'gone'; code: 'node-gone' | 'node-recreated'; message: string }
  | { kind: 'wait'; code: string; message: string; doubt: boolean }
  | { kind: 'refuse'; code: string; message: string; retryAt?: number; scope?: Scope };

/** A reason against touching the node at all. */
export interface Objection {
  code: string;
  message: string;
  /** Epoch ms when it may be gone, where that is known. */
  retryAt?: number;
  /** Whose breaker it is, when it is one. */
  scope?: Scope;
}

export interface JudgeFacts {
  nodeName: string;
  nodeUid: string;
  /** The node as it is now, undefined when there is none of that name. */
  node: Node | undefined;
  /** Undefined when the configuration no longer names the cluster. */
  cluster: ClusterConfig | undefined;
  /** All faults of the cluster, from the same read as `node`. */
  gaps: readonly Fault[];
  unknown: readonly UnknownEntry[];
  /** A read that the judgement needs and that failed: no action follows from it, ever. */
  doubt: Objection | undefined;
  /** Veto, then pause: a person's word and other controllers come first. */
  veto: Objection | undefined;
  hold: Objection | undefined;
  /** Only the breaker of the scopes of this node. */
  breaker: Objection | undefined;
  /** What the node was isolated for, needed once nodegap's own taint hides it. */
  remembered?: RememberedFault;
  /** What others say of nodes that are not Ready. */
  notReady?: NotReadyVerdicts;
  /** The node bears nodegap's own NoSchedule taint, and its mark says so. */
  tainted: boolean;
}

/**
 * Decides, purely, what may be done about a node. Safety rule 2 of docs/safety.md: called again
 * with fresh facts right before everything that destroys.
 */
export function judge(facts: JudgeFacts): Judgement {
  if (facts.node === undefined) {
    return {
      kind: 'gone',
      code: 'node-gone',
      message: `there is no node ${facts.nodeName} any more`,
    };
  }
  if (facts.node.metadata.uid !== facts.nodeUid) {
    return {
      kind: 'gone',
      code: 'node-recreated',
      message: `another node is called ${facts.nodeName} now`,
    };
  }
  const gaps = facts.gaps
    .filter((gap) => gap.nodeUid === facts.nodeUid && gap.required)
    .map((gap) => behindOwnTaint(gap, facts));
  // Field by field: an objection may be a richer object, with a `kind` of its own.
  const refuse = ({ code, message, retryAt, scope }: Objection): Judgement => ({
    kind: 'refuse',
    code,
    message,
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(scope === undefined ? {} : { scope }),
  });

  if (facts.cluster === undefined) {
    return refuse({
      code: 'cluster-not-configured',
      message: 'the configuration no longer names this cluster',
    });
  }
  if (facts.veto !== undefined) return refuse(facts.veto);
  if (facts.doubt !== undefined) return { kind: 'wait', ...facts.doubt, doubt: true };
  if (gaps.length === 0) return withoutGap(facts);
  if (facts.cluster.mode === 'observe') {
    return refuse({
      code: 'mode-observe',
      message: `cluster ${facts.cluster.name} is in mode observe: nothing is written to it`,
    });
  }
  if (facts.hold !== undefined) return refuse(facts.hold);
  const judgement = byStanding(gaps, facts);
  return judgement.kind === 'act' && facts.breaker !== undefined
    ? refuse(facts.breaker)
    : judgement;
}

/**
 * Events tell causes apart, and NodeClaims who is about to take a node away: that every pod is Ready
 * is known without them.
 */
const besideHealth = new Set(['events-unavailable', 'nodeclaims-unavailable']);

/** A node of which something cannot be said is not healthy: reading failed is no recovery. */
function withoutGap(facts: JudgeFacts): Judgement {
  const doubt = facts.unknown.find(
    (entry) =>
      entry.node === facts.nodeName ||
      (entry.node === undefined &&
        entry.daemonSet === undefined &&
        !besideHealth.has(entry.reason)),
  );
  const well = 'every required DaemonSet is Ready on the node';
  const message =
    facts.remembered?.cause === 'node-condition' ? `the condition is gone, and ${well}` : well;
  return doubt === undefined
    ? { kind: 'healthy', message }
    : { kind: 'wait', code: doubt.reason, message: doubt.message, doubt: true };
}

/**
 * Once the node bears nodegap's taint, a DaemonSet that does not tolerate it is kept out by that
 * taint alone. That is no recovery and no new cause: the fault known before the taint stands, and
 * so does its blame, unless the other nodes show meanwhile that the fault is not this node's.
 */
function behindOwnTaint(gap: Fault, facts: JudgeFacts): Fault {
  if (isConditionFault(gap)) return gap;
  const { remembered } = facts;
  const cause = causes.find((known) => known === remembered?.cause);
  const hidden =
    facts.tainted &&
    gap.cause === 'untolerated-taint' &&
    remembered?.daemonSets.includes(gap.daemonSet) === true;
  if (!hidden || cause === undefined) return gap;
  const before = { ...gap, cause, pastGrace: true, confirmed: true };
  const elsewhere = facts.gaps.find(
    (other) =>
      other.nodeUid !== gap.nodeUid &&
      subjectOf(other) === gap.daemonSet &&
      (other.blame === 'daemonset' ||
        other.blame === 'cluster' ||
        (other.blame === 'zone' && other.zone === gap.zone)),
  );
  return elsewhere === undefined
    ? { ...before, blame: 'node' }
    : {
        ...before,
        blame: elsewhere.blame,
        blameReason: elsewhere.blameReason,
        blameEvidence: elsewhere.blameEvidence,
      };
}

function byStanding(gaps: Fault[], facts: JudgeFacts): Judgement {
  const others = facts.gaps.filter((gap) => gap.nodeUid !== facts.nodeUid);
  const everything = [...others, ...gaps];
  const judged = gaps.map((gap) => ({
    gap,
    standing: standingOf(gap, everything, facts.notReady),
  }));
  const actionable = judged.flatMap(({ gap, standing }) =>
    standing.kind === 'actionable' ? [{ gap, canary: standing.canary }] : [],
  );
  const primary =
    actionable.find(({ gap, canary }) => !canary && gap.ceiling === 'replace') ??
    actionable.find(({ canary }) => !canary) ??
    actionable[0];
  if (primary !== undefined) {
    const ladder = ladderOf(primary.gap.cause);
    if (ladder.kind === 'replace') {
      return {
        kind: 'act',
        gaps: actionable.map(({ gap }) => gap),
        primary: primary.gap,
        ladder,
        reach: primary.gap.ceiling === 'replace' ? 'replace' : 'isolate',
        ...(primary.canary ? { canaryFor: subjectOf(primary.gap) } : {}),
      };
    }
  }
  // Before what only has to ripen: that ends with a release, and doubt does not.
  const unclear = gaps.find((gap) => causeIsLost(gap, facts));
  if (unclear !== undefined) {
    const said = `${subjectOf(unclear)} is still not Ready, but why cannot be told any more: ${unclear.message}`;
    return { kind: 'wait', code: 'cause-unknown', message: said, doubt: true };
  }
  const unripe = judged.filter(({ standing }) => standing.kind === 'not-yet');
  const waiting = unripe.find(({ standing }) => inDoubt(standing)) ?? unripe[0];
  const chosen = waiting ?? judged[0];
  if (chosen === undefined || chosen.standing.kind === 'actionable') {
    return { kind: 'healthy', message: 'no required DaemonSet is missing on the node' };
  }
  const { code, message } = chosen.standing;
  if (chosen.standing.kind === 'not-yet') {
    return { kind: 'wait', code, message, doubt: chosen.standing.doubt };
  }
  // What is left is not what the attempt is about: for the attempt, the node is well again.
  const about = facts.remembered?.daemonSets;
  if (about !== undefined && !gaps.some((gap) => about.includes(subjectOf(gap)))) {
    return withoutGap(facts);
  }
  return { kind: 'refuse', code, message };
}

function inDoubt(standing: Standing): boolean {
  return standing.kind === 'not-yet' && standing.doubt;
}

/**
 * The DaemonSet that the attempt is about still has no Ready pod, and the cause that was known gave
 * way to none, as of a restarted pod of which the kubelet has said nothing yet. That is no reason to
 * let workload onto the node again, nor to go further.
 */
function causeIsLost(gap: Fault, { remembered }: JudgeFacts): boolean {
  return gap.cause === 'unknown' && remembered?.daemonSets.includes(subjectOf(gap)) === true;
}
