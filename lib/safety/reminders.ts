/** When people are told again of a question that nobody has answered. Pure; all times epoch ms. */
import type { ApprovalsConfig } from '../config/model.ts';
import type { Approval } from './approvals.ts';

/** What is due now; both at once are one message. */
export interface DueNotice {
  /** The how-manieth reminder it is; those that fell into one time are one. */
  reminder?: number;
  escalation?: true;
}

/**
 * Decides whether people are to be told again. After an answer or the deadline they are not: both
 * have ended the question. A time of 0 turns off reminder or escalation.
 */
export function dueNotice(
  approval: Pick<Approval, 'askedAt' | 'deadline' | 'decided' | 'reminded' | 'escalatedAt'>,
  { remindAfter, escalateAfter }: Pick<ApprovalsConfig, 'remindAfter' | 'escalateAfter'>,
  now: number,
): DueNotice | undefined {
  if (approval.decided !== undefined || now >= approval.deadline) return undefined;
  const waited = now - approval.askedAt;
  const reminder = remindAfter === 0 ? 0 : Math.floor(waited / (remindAfter * 1000));
  const isReminderDue = reminder > approval.reminded;
  const isEscalationDue =
    escalateAfter > 0 && waited >= escalateAfter * 1000 && approval.escalatedAt === undefined;
  if (!isReminderDue && !isEscalationDue) return undefined;
  return {
    ...(isReminderDue ? { reminder } : {}),
    ...(isEscalationDue ? { escalation: true } : {}),
  };
}
