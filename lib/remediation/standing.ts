import { type FaultCause, faultText, isConditionFault, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import { ladderOf } from './ladder.ts';
import type { NotReadyVerdict, NotReadyVerdicts } from './others.ts';

/**
 * Where one fault stands on the way to an action. `not-yet` may ripen by itself; `never` needs
 * someone else to act. The codes are stable and documented in docs/reason-codes.md.
 */
export type Standing =
  | { kind: 'actionable'; canary: boolean }
  /** `doubt`: whether it stands or not cannot be told now, so nothing is undone either. */
  | { kind: 'not-yet'; code: string; message: string; doubt: boolean }
  | { kind: 'never'; code: string; message: string };

/** Causes that say nothing about their fate: they pass, or turn into another cause. */
const passingCauses: readonly FaultCause[] = ['starting', 'rollout'];

const nobodyAsked: NotReadyVerdicts = new Map();

/** Causes whose blame needs a witness, and that one canary node may be taken for without one. */
const canaryCauses: readonly FaultCause[] = ['image-pull', 'crash-loop', 'not-ready', 'oom-killed'];

/**
 * Judges one gap by itself and against the other gaps of the same read (for the canary rule of
 * docs/causes.md). Vetoes, holds and the breaker are of the node and its scopes, not of the gap.
 * `notReady` says what others make of nodes that are not Ready; of one that is not among it nobody
 * was asked.
 */
export function standingOf(
  gap: Fault,
  allGaps: readonly Fault[],
  notReady: NotReadyVerdicts = nobodyAsked,
): Standing {
  if (!gap.required) {
    return never('not-required', `${subjectOf(gap)} is not a required DaemonSet`);
  }
  if (gap.ceiling === 'alert') {
    return never('ceiling-alert', `the configuration allows only an alert for ${faultText(gap)}`);
  }
  if (isConditionFault(gap) && gap.sinceIsolation) {
    return never(
      'condition-since-isolation',
      `${faultText(gap)} came after nodegap isolated the node and may be its doing`,
    );
  }
  if (passingCauses.includes(gap.cause)) {
    return notYet(gap.cause, gap.message);
  }
  const ladder = ladderOf(gap.cause);
  if (ladder.kind === 'hands-off') {
    return never('hands-off', `${gap.cause} is not cured by touching the node: ${ladder.why}`);
  }
  if (gap.blame !== 'node' && gap.blame !== 'unclear') {
    return never(`blame-${gap.blame}`, gap.blameReason);
  }
  if (!gap.pastGrace) {
    return notYet('young', 'node or pod is younger than its grace');
  }
  if (!gap.confirmed) {
    return notYet('unconfirmed', 'not yet seen in enough scans');
  }
  if (gap.blame === 'node') {
    return ladder.secondObserver
      ? byOthers(notReady.get(gap.nodeUid))
      : { kind: 'actionable', canary: false };
  }
  if (!canaryCauses.includes(gap.cause)) {
    return notYet('blame-unclear', gap.blameReason);
  }
  const first = canaryCandidate(subjectOf(gap), allGaps);
  return first === undefined || first.nodeUid === gap.nodeUid
    ? { kind: 'actionable', canary: true }
    : notYet(
        'canary-elsewhere',
        `${first.node} is taken first, as the canary of ${subjectOf(gap)}`,
      );
}

/** Whether all that is missing for an action is what others say of the node. */
export function awaitsSecondObserver(gap: Fault, allGaps: readonly Fault[]): boolean {
  const standing = standingOf(gap, allGaps);
  return standing.kind === 'never' && standing.code === 'node-not-ready';
}

/** A node that is not Ready is acted on only where nobody else does, and two observers agree. */
function byOthers(verdict: NotReadyVerdict | undefined): Standing {
  switch (verdict?.kind) {
    case 'agreed':
      return { kind: 'actionable', canary: false };
    case 'left':
      return never(verdict.code, verdict.message);
    case 'unknown':
      return notYet(verdict.code, verdict.message, true);
    case undefined:
      return never(
        'node-not-ready',
        'a node that is not Ready is acted on only when a second observer agrees, which was not asked',
      );
  }
}

/** The node that goes first when the blame is unclear: the longest in trouble, then by name. */
function canaryCandidate(subject: string, gaps: readonly Fault[]): Fault | undefined {
  return gaps
    .filter(
      (gap) =>
        subjectOf(gap) === subject &&
        gap.blame === 'unclear' &&
        gap.pastGrace &&
        gap.confirmed &&
        canaryCauses.includes(gap.cause),
    )
    .sort((a, b) => a.since - b.since || a.node.localeCompare(b.node))[0];
}

function notYet(code: string, message: string, doubt = false): Standing {
  return { kind: 'not-yet', code, message, doubt };
}

function never(code: string, message: string): Standing {
  return { kind: 'never', code, message };
}
