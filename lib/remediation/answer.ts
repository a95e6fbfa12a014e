import type { Decided } from '../safety/approvals.ts';
import { type AnswerResult, scopeFields } from './workflow-state.ts';

/** What a waiting task is told of the decision about its question. */
export function answerOf({ decision, by, at, via, address, why }: Decided): AnswerResult {
  const how = {
    ...(via === undefined ? {} : { via }),
    ...(address === undefined ? {} : { address }),
  };
  const told = why === undefined ? {} : { code: why.code, message: why.message };
  return { decision, by, at, ...how, ...told, ...scopeFields(why?.scope) };
}
