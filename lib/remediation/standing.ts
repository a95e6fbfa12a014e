import type { Cause, Gap } from '../gap/model.ts';
import { ladderOf } from './ladder.ts';

/**
 * Where one gap stands on the way to an action. `not-yet` may ripen by itself; `never` needs
 * someone else to act. The codes are stable and documented in docs/reason-codes.md.
 */
export type Standing =
  | { kind: 'actionable'; canary: boolean }
  | { kind: 'not-yet'; code: string; message: string }
  | { kind: 'never'; code: string; message: string };

/** Causes that say nothing about their fate: they pass, or turn into another cause. */
const passingCauses: readonly Cause[] = ['starting', 'rollout'];

/** Causes whose blame needs a witness, and that one canary node may be taken for without one. */
const canaryCauses: readonly Cause[] = ['image-pull', 'crash-loop', 'not-ready', 'oom-killed'];

/**
 * Judges one gap by itself and against the other gaps of the same read (for the canary rule of
 * docs/causes.md). Vetoes, holds and the breaker are of the node and its scopes, not of the gap.
 */
export function standingOf(gap: Gap, allGaps: readonly Gap[]): Standing {
  if (!gap.required) {
    return never('not-required', `${gap.daemonSet} is not a required DaemonSet`);
  }
  if (gap.ceiling === 'alert') {
    return never('ceiling-alert', `the configuration allows only an alert for ${gap.daemonSet}`);
  }
  if (passingCauses.includes(gap.cause)) {
    return notYet(gap.cause, gap.message);
  }
  const ladder = ladderOf(gap.cause);
  if (ladder.kind === 'node-not-ready') {
    return never(
      'node-not-ready',
      'a NotReady node is left to node repair until a second observer agrees',
    );
  }
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
    return { kind: 'actionable', canary: false };
  }
  if (!canaryCauses.includes(gap.cause)) {
    return notYet('blame-unclear', gap.blameReason);
  }
  const first = canaryCandidate(gap.daemonSet, allGaps);
  return first === undefined || first.nodeUid === gap.nodeUid
    ? { kind: 'actionable', canary: true }
    : notYet('canary-elsewhere', `${first.node} is taken first, as the canary of ${gap.daemonSet}`);
}

/** The node that goes first when the blame is unclear: the longest in trouble, then by name. */
function canaryCandidate(daemonSet: string, gaps: readonly Gap[]): Gap | undefined {
  return gaps
    .filter(
      (gap) =>
        gap.daemonSet === daemonSet &&
        gap.blame === 'unclear' &&
        gap.pastGrace &&
        gap.confirmed &&
        canaryCauses.includes(gap.cause),
    )
    .sort((a, b) => a.since - b.since || a.node.localeCompare(b.node))[0];
}

function notYet(code: string, message: string): Standing {
  return { kind: 'not-yet', code, message };
}

function never(code: string, message: string): Standing {
  return { kind: 'never', code, message };
}
