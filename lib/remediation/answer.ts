import type { Decided } from '../safety/approvals.ts';
import { type AnswerResult, scopeFields } from './workflow-state.ts';

/** What a waiting task is told of the decision about its question. */
export function answerOf({ decision, by, at, why }: Decided): AnswerResult {
  const told = why === undefined ? {} : { code: why.code, message: why.message };
  return { decision, by, at, ...told, ...scopeFields(why?.scope) };
}
