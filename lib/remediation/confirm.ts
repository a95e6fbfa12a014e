/** What ConfirmGap answers about a situation. Pure; the plan of `remediate --dry-run` asks it too. */
import { faultText, faultWithCause, subjectOf } from '../gap/fault.ts';
import { isIsolationTaint } from '../safety/ownership.ts';
import type { Situation } from './situation.ts';
import { type ConfirmResult, scopeFields, type WorkflowState } from './workflow-state.ts';

type Facts = Pick<Situation, 'judgement' | 'loaded' | 'node' | 'mark' | 'records' | 'remembered'>;

/** Vetoes that say that the node is going away. */
const leaving: readonly string[] = [
  'node-deleting',
  'claim-deleting',
  'karpenter-disrupted',
  'autoscaler-deleting',
  'leaving',
];

/**
 * Whether there is anything to do. A node that bears our mark or taint without need of it is
 * released, whoever left it there (safety rule 10): when it has been healthy for hold-up, or when a
 * guard refuses further work on it. One that is going away is left to whoever takes it away, and
 * one of which nothing can be told stays as it is.
 */
export function confirmOf(situation: Facts, state: WorkflowState): ConfirmResult {
  const { judgement } = situation;
  const isolated = bearsOurs(situation);
  switch (judgement.kind) {
    case 'act': {
      const { primary, gaps } = judgement;
      const blamed = primary.blame === 'node' ? 'node' : 'node for now, as a canary';
      const message = `${faultWithCause(primary)}, blamed on the ${blamed}: ${primary.message}`;
      return {
        ...confirmAnswer(situation, 'act', 'gap-confirmed', message),
        daemonSets: gaps.map(subjectOf).join(','),
        faults: gaps.map(faultText).join(', '),
        cause: primary.cause,
        blame: primary.blame,
        since: primary.since,
      };
    }
    case 'healthy':
      return isolated && !healthyForHoldUp(situation, state)
        ? confirmAnswer(situation, 'report', 'hold-up', 'healthy for the moment, which must last')
        : confirmAnswer(situation, isolated ? 'release' : 'report', 'recovered', judgement.message);
    case 'refuse': {
      const { code, message, scope } = judgement;
      const undo = isolated && !leaving.includes(code);
      const refused = confirmAnswer(situation, undo ? 'release' : 'report', code, message);
      return { ...refused, ...scopeFields(scope) };
    }
    case 'gone':
    case 'wait':
      return confirmAnswer(situation, 'report', judgement.code, judgement.message);
  }
}

/** An answer about no fault in particular. */
export function confirmAnswer(
  situation: Pick<Facts, 'loaded' | 'node' | 'mark'>,
  next: ConfirmResult['next'],
  code: string,
  message: string,
): ConfirmResult {
  return {
    next,
    code,
    message,
    daemonSets: '',
    cause: '',
    blame: '',
    since: 0,
    isolated: bearsOurs(situation),
    configSha: situation.loaded.sha256,
  };
}

function bearsOurs({ node, mark }: Pick<Facts, 'node' | 'mark'>): boolean {
  const tainted = node?.spec.taints?.some(isIsolationTaint) === true;
  return mark.kind === 'ours' || (mark.kind === 'none' && tainted);
}

/**
 * The scan drops the record of a gap when it has been away for hold-up. Only the gaps that the node
 * is isolated for count, where that is known.
 */
function healthyForHoldUp({ records, remembered }: Facts, { nodeUid }: WorkflowState): boolean {
  return !records.some(
    (record) =>
      record.nodeUid === nodeUid && remembered?.daemonSets.includes(record.daemonSet) !== false,
  );
}
