/**
 * What a person is told with a question. It is kept with the question, so that mail, page, terminal
 * and CLI show the same; each renders it for its own medium. Nothing is decided on it: whatever is
 * answered, everything is read again.
 */
import { NodegapError } from '../errors.ts';
import type { AttributeValue } from '../ports.ts';
import * as z from '../zod.ts';

const text = z.string();
const epochMs = z.number();
const count = z.number();

/** A group of the pods of the node: how many, and the first of them by name. */
const podGroupSchema = z.object({
  count,
  /** At most `mostNamedPods`; `why` says what is lost, or what is in the way. */
  first: z.array(z.object({ pod: text, why: text })),
});

const faultSchema = z.object({
  /** `namespace/name` of the DaemonSet, or `condition TYPE`. */
  subject: text,
  /** The subject in words, with status and reason of a condition. */
  text,
  cause: text,
  blame: text,
  /** Why that blame, a sentence. */
  blameReason: text,
  since: epochMs,
  message: text,
});

export const questionFactsSchema = z.object({
  cluster: text,
  node: text,
  /** Why a person is asked, a sentence. */
  asks: text,
  /** Of the node as it was read; empty where it could not be read, or is not there any more. */
  pool: z.exactOptional(text),
  zone: z.exactOptional(text),
  /** For example `karpenter` or `managed-node-group`. */
  kind: z.exactOptional(text),
  createdAt: z.exactOptional(epochMs),
  ready: z.exactOptional(z.boolean()),
  /** What the node is acted on for, the most important first. */
  faults: z.array(faultSchema),
  /** How many faults have no room in `faults`. */
  moreFaults: count,
  /** What each answer leads to, a line for each step. */
  answers: z.array(z.object({ answer: text, will: z.array(text) })),
  /** What the drain said when it was blocked. */
  drain: z.exactOptional(text),
  /** What a drain would do now; absent where the pods could not be read. */
  pods: z.exactOptional(
    z.object({
      evict: podGroupSchema,
      /** Left where they are: of DaemonSets, static, finished. */
      skip: podGroupSchema,
      /** Held by a budget, or on their way out for too long. */
      blocked: podGroupSchema,
      needsApproval: podGroupSchema,
      /** On their way out. */
      leaving: podGroupSchema,
    }),
  ),
  /** The budgets of those pods in words, the tightest first. */
  budgets: z.array(text),
  /** What could not be read, a line each. */
  unread: z.array(text),
  readAt: epochMs,
  /** No answer by then is a no. */
  deadline: epochMs,
});

export type QuestionFacts = z.infer<typeof questionFactsSchema>;
export type PodGroup = z.infer<typeof podGroupSchema>;
export type FaultFact = z.infer<typeof faultSchema>;

/** As an item of the state table holds them: plain JSON without what is undefined. */
export function storedFacts(facts: QuestionFacts): AttributeValue {
  return JSON.parse(JSON.stringify(facts)) as AttributeValue;
}

/** @throws NodegapError `State.Corrupt` when the item of question `id` holds something else. */
export function factsFrom(id: string, value: AttributeValue | undefined): QuestionFacts {
  const parsed = questionFactsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new NodegapError('State.Corrupt', `the facts of approval ${id} cannot be read`, {
    cause: parsed.error,
  });
}
