import { faultText } from '../gap/fault.ts';
import type { NodeExplanation } from './explain.ts';
import { type ExplainOptions, entry, evidenceEntries } from './explain-entry.ts';
import { actionLines, timeLines } from './explain-pair-text.ts';

/** A node condition that is a fault, for people. */
export function conditionBlock(
  { verdict, plan }: NodeExplanation['conditions'][number],
  options: ExplainOptions,
): string[] {
  const { gap: fault } = verdict;
  const { style } = options;
  const paint = verdict.kind === 'actionable' ? style.bad : style.warning;
  return [
    `${style.bold(faultText(fault))}: ${paint('fault')}`,
    ...entry('cause', `${fault.cause}: ${fault.message}`, options),
    ...evidenceEntries('evidence', fault.evidence, options),
    ...entry('blame', `${fault.blame}: ${fault.blameReason}`, options),
    ...evidenceEntries('blame rests on', fault.blameEvidence, options),
    ...timeLines(fault, options),
    ...actionLines(verdict, plan, options),
  ];
}
