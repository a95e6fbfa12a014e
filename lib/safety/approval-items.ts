/** How approvals lie in the state table: the question, and apart from it the task token. */
import type { Item, ItemKey } from '../ports.ts';
import { numberOf, oneOf, optionalNumber, textOf, textsOf } from './item-fields.ts';

export const APPROVALS_PK = 'approvals';

export type Question = 'replace' | 'drain-blocked';
export type Decision = 'approve' | 'deny' | 'retry' | 'proceed' | 'release';

const questions: readonly Question[] = ['replace', 'drain-blocked'];
const decisions: readonly Decision[] = ['approve', 'deny', 'retry', 'proceed', 'release'];

/** The answers that a question allows. */
export const answersTo: Record<Question, readonly Decision[]> = {
  replace: ['approve', 'deny'],
  'drain-blocked': ['retry', 'proceed', 'release'],
};

/** A question to a person. Times are epoch ms. It never holds the task token. */
export interface Approval {
  id: string;
  cluster: string;
  node: string;
  nodeUid: string;
  episode: number;
  attempt: number;
  execution: string;
  question: Question;
  /** Which time that this execution asks this question, from 1 up. */
  round: number;
  facts: string[];
  askedAt: number;
  /** No answer by then is a no. */
  deadline: number;
  decided?: { decision: Decision; by: string; at: number };
}

export function approvalKey(id: string): ItemKey {
  return { pk: APPROVALS_PK, sk: id };
}

export function tokenKey(id: string): ItemKey {
  return { pk: 'approval-tokens', sk: id };
}

export function roundKey(execution: string, question: Question, round: number): ItemKey {
  return { pk: 'approval-rounds', sk: `${execution}#${question}#${round}` };
}

/** Kept for a while after the deadline, so that a late answer learns why it is late. In seconds. */
export function ttlOf(deadline: number): number {
  return Math.ceil(deadline / 1000) + 30 * 86_400;
}

export function approvalItem(approval: Approval): Item {
  const { decided: _decided, ...fields } = approval;
  return { ...approvalKey(approval.id), ...fields, ttl: ttlOf(approval.deadline) };
}

export function approvalFrom(item: Item): Approval {
  const decidedAt = optionalNumber(item, 'decidedAt');
  return {
    id: textOf(item, 'id'),
    cluster: textOf(item, 'cluster'),
    node: textOf(item, 'node'),
    nodeUid: textOf(item, 'nodeUid'),
    episode: numberOf(item, 'episode'),
    attempt: numberOf(item, 'attempt'),
    execution: textOf(item, 'execution'),
    question: oneOf(item, 'question', questions),
    round: numberOf(item, 'round'),
    facts: textsOf(item, 'facts'),
    askedAt: numberOf(item, 'askedAt'),
    deadline: numberOf(item, 'deadline'),
    ...(decidedAt === undefined
      ? {}
      : {
          decided: {
            decision: oneOf(item, 'decision', decisions),
            by: textOf(item, 'decidedBy'),
            at: decidedAt,
          },
        }),
  };
}
