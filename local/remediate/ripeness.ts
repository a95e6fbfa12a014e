/** Whether an attempt may begin, or what is waited for: graces, confirmation, hold-up. Pure. */
import type { Situation } from '../../lib/remediation/situation.ts';
import { isIsolationTaint } from '../../lib/safety/ownership.ts';

export type Ripeness =
  | { kind: 'nothing-to-do'; message: string }
  | { kind: 'wait'; code: string; message: string }
  | { kind: 'ripe' };

/** What passes by itself, and what the wait for is bounded by graces. */
const passing: readonly string[] = ['young', 'unconfirmed', 'starting'];

/**
 * Everything else, refusals too, is for the machine to judge and report. A node that bears our mark
 * and is well is released by it once its gaps have been away for hold-up.
 */
export function ripenessOf(situation: Situation): Ripeness {
  const { judgement, mark, node, records } = situation;
  const isIsolated =
    mark.kind === 'ours' ||
    (mark.kind === 'none' && node?.spec.taints?.some(isIsolationTaint) === true);
  if (judgement.kind === 'healthy' && !isIsolated) {
    return { kind: 'nothing-to-do', message: judgement.message };
  }
  if (judgement.kind === 'healthy') {
    return records.some(({ nodeUid }) => nodeUid === node?.metadata.uid)
      ? { kind: 'wait', code: 'hold-up', message: 'healthy for the moment, which must last' }
      : { kind: 'ripe' };
  }
  if (judgement.kind === 'wait' && passing.includes(judgement.code)) {
    return { kind: 'wait', code: judgement.code, message: judgement.message };
  }
  return { kind: 'ripe' };
}
