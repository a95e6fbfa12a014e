/** How approvals lie in the state table: the question, and apart from it the task token. */
import type { AttributeValue, Item, ItemKey } from '../ports.ts';
import { numberOf, oneOf, optionalNumber, optionalText, textOf } from './item-fields.ts';
import { factsFrom, type QuestionFacts, storedFacts } from './question-facts.ts';
import type { Scope, ScopeKind } from './scope.ts';

export const APPROVALS_PK = 'approvals';
export const ROUNDS_PK = 'approval-rounds';
export const TOKENS_PK = 'approval-tokens';

export type Question = 'replace' | 'drain-blocked';
/** What a person may answer. */
export type Answer = 'approve' | 'deny' | 'retry' | 'proceed' | 'release';
/** How a question becomes pointless without a person; none of them lets the work go on. */
export type Settlement = 'recovered' | 'gone' | 'refused';
export type Decision = Answer | Settlement;
/** How a person answered. */
export type Via = 'cli' | 'link' | 'terminal';

const settlements: readonly Settlement[] = ['recovered', 'gone', 'refused'];
export const vias: readonly Via[] = ['cli', 'link', 'terminal'];
const kinds: readonly ScopeKind[] = ['pool', 'zone', 'cluster'];
export const questions: readonly Question[] = ['replace', 'drain-blocked'];
export const answers: readonly Answer[] = ['approve', 'deny', 'retry', 'proceed', 'release'];
export const decisions: readonly Decision[] = [...answers, ...settlements];

/** The answers that a question allows a person. */
export const answersTo: Record<Question, readonly Answer[]> = {
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
  facts: QuestionFacts;
  askedAt: number;
  /** No answer by then is a no. */
  deadline: number;
  /** The node has had no fault since then. */
  healthySince?: number;
  /** How often people were reminded, and when last. */
  reminded: number;
  remindedAt?: number;
  escalatedAt?: number;
  decided?: Decided;
}

export interface Decided {
  decision: Decision;
  /** IAM identity (cli), the typed name (link), the name of the user (terminal), or `nodegap`. */
  by: string;
  at: number;
  /** Absent when nodegap itself closed the question. */
  via?: Via;
  /** Source address; only the link page knows one. */
  address?: string;
  /** Why no person is needed any more, when none decided. */
  why?: Why;
}

/** A stable code, words for a person, and whose breaker it is, when it is one. */
export interface Why {
  code: string;
  message: string;
  scope?: Scope;
}

export function approvalKey(id: string): ItemKey {
  return { pk: APPROVALS_PK, sk: id };
}

export function tokenKey(id: string): ItemKey {
  return { pk: TOKENS_PK, sk: id };
}

export function roundKey(execution: string, question: Question, round: number): ItemKey {
  return { pk: ROUNDS_PK, sk: `${roundsPrefix(execution)}${question}#${round}` };
}

/** With which the sort keys of all rounds of an execution begin. */
export function roundsPrefix(execution: string): string {
  return `${execution}#`;
}

/** Kept for a while after the deadline, so that a late answer learns why it is late. In seconds. */
export function ttlOf(deadline: number): number {
  return Math.ceil(deadline / 1000) + 30 * 86_400;
}

export function approvalItem(approval: Approval): Item {
  const { decided: _decided, healthySince: _healthySince, facts, ...fields } = approval;
  const kept = { ...fields, facts: storedFacts(facts), ttl: ttlOf(approval.deadline) };
  return { ...approvalKey(approval.id), ...kept };
}

/** The attributes of a decision. */
export function decidedFields(decided: Decided): Record<string, AttributeValue> {
  const { decision, by, at, via, address, why } = decided;
  const { kind, name } = why?.scope ?? {};
  return {
    decision,
    decidedBy: by,
    decidedAt: at,
    ...(via === undefined ? {} : { via }),
    ...(address === undefined ? {} : { address }),
    ...(why === undefined ? {} : { code: why.code, message: why.message }),
    ...(kind === undefined || name === undefined ? {} : { scopeKind: kind, scopeName: name }),
  };
}

function decidedFrom(item: Item): Decided | undefined {
  const at = optionalNumber(item, 'decidedAt');
  if (at === undefined) return undefined;
  const by = textOf(item, 'decidedBy');
  const address = optionalText(item, 'address');
  const decided = {
    decision: oneOf(item, 'decision', decisions),
    by,
    at,
    ...(item.via === undefined ? {} : { via: oneOf(item, 'via', vias) }),
    ...(address === undefined ? {} : { address }),
  };
  if (item.code === undefined) return decided;
  const name = optionalText(item, 'scopeName');
  const scope =
    name === undefined ? {} : { scope: { kind: oneOf(item, 'scopeKind', kinds), name } };
  const why = { code: textOf(item, 'code'), message: textOf(item, 'message'), ...scope };
  return { ...decided, why };
}

export function approvalFrom(item: Item): Approval {
  const healthySince = optionalNumber(item, 'healthySince');
  const remindedAt = optionalNumber(item, 'remindedAt');
  const escalatedAt = optionalNumber(item, 'escalatedAt');
  const decided = decidedFrom(item);
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
    facts: factsFrom(textOf(item, 'id'), item.facts),
    askedAt: numberOf(item, 'askedAt'),
    deadline: numberOf(item, 'deadline'),
    ...(healthySince === undefined ? {} : { healthySince }),
    reminded: numberOf(item, 'reminded'),
    ...(remindedAt === undefined ? {} : { remindedAt }),
    ...(escalatedAt === undefined ? {} : { escalatedAt }),
    ...(decided === undefined ? {} : { decided }),
  };
}
