/** What the function of the stack that takes answers replies (functions/answer-approval.ts). */
import * as z from 'zod';
import { decisions, questions, vias } from '../lib/safety/approval-items.ts';
import { questionFactsSchema } from '../lib/safety/question-facts.ts';

const text = z.string();
const epochMs = z.number();

const decidedSchema = z.object({
  decision: z.enum(decisions),
  by: text,
  at: epochMs,
  via: z.enum(vias).exactOptional(),
  address: text.exactOptional(),
  why: z.object({ code: text, message: text }).exactOptional(),
});

const approvalSchema = z.object({
  id: text,
  cluster: text,
  node: text,
  nodeUid: text,
  episode: z.number(),
  attempt: z.number(),
  execution: text,
  question: z.enum(questions),
  round: z.number(),
  facts: questionFactsSchema,
  askedAt: epochMs,
  deadline: epochMs,
  reminded: z.number(),
  remindedAt: epochMs.exactOptional(),
  escalatedAt: epochMs.exactOptional(),
  decided: decidedSchema.exactOptional(),
});

export const listReplySchema = z.object({
  at: epochMs,
  approvals: z.array(approvalSchema),
  /** How many there was no room for, the oldest. */
  leftOut: z.number().default(0),
});

export const showReplySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('question'), at: epochMs, approval: approvalSchema }),
  z.object({ kind: z.literal('not-found') }),
]);

export const decideReplySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('decided') }),
  z.object({ kind: z.literal('already-decided'), ...decidedSchema.shape }),
  z.object({ kind: z.literal('expired') }),
  z.object({ kind: z.literal('not-found') }),
  z.object({ kind: z.literal('too-late'), message: text }),
  z.object({ kind: z.literal('refused'), message: text }),
]);
