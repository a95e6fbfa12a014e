/**
 * What travels between the states of `remediate-node`: the five words of the attempt, and under
 * its own key the flat answer of each handler. Small on purpose (ids, codes, numbers): Step
 * Functions ends an execution whose state passes 256 KiB, and no Catch sees that.
 */
import * as z from 'zod';
import type { Scope } from '../safety/scope.ts';

const text = z.string();
const epochMs = z.number();

export const attemptSchema = z.object({
  cluster: text.min(1),
  node: text.min(1),
  nodeUid: text.min(1),
  episode: z.number().int().positive(),
  attempt: z.number().int().positive(),
});

/** Why a flow turns: a stable code and words for a person. */
const turn = {
  code: text,
  message: text,
  /** Whose breaker it is, when it is one. */
  scopeKind: z.enum(['pool', 'zone', 'cluster']).optional(),
  scopeName: text.optional(),
};

/** The scope of a breaker as flat fields of a result. */
export function scopeFields(scope: Scope | undefined): {
  scopeKind?: Scope['kind'];
  scopeName?: string;
} {
  return scope === undefined ? {} : { scopeKind: scope.kind, scopeName: scope.name };
}

export const confirmSchema = z.object({
  next: z.enum(['act', 'release', 'report']),
  ...turn,
  /** `namespace/name` of the DaemonSets with an actionable gap, comma-separated. */
  daemonSets: text,
  cause: text,
  blame: text,
  since: epochMs,
  /** The node bears nodegap's mark or taint from before this attempt. */
  isolated: z.boolean(),
  configSha: text,
});

export const slotSchema = z.object({
  next: z.enum(['acquired', 'refused', 'wait']),
  ...turn,
  fence: z.number(),
  waitSeconds: z.number(),
  /** Epoch ms of the first refusal of a place, while one is waited for. */
  waitingSince: epochMs,
  retryAt: epochMs,
});

export const isolationSchema = z.object({
  next: z.enum(['isolated', 'release']),
  ...turn,
  at: epochMs,
  tainted: z.boolean(),
  waitSeconds: z.number(),
});

export const recoverySchema = z.object({
  next: z.enum([
    'wait',
    'restart',
    'recovered',
    'ask',
    'taint',
    'drain',
    'stay-isolated',
    'release',
  ]),
  ...turn,
  polls: z.number(),
  /** Epoch ms since when the node has had no fault, 0 while it has one. */
  healthySince: epochMs,
  approvalSeconds: z.number(),
});

export const restartSchema = z.object({ ...turn, at: epochMs });

export const answerSchema = z.object({
  decision: z.enum(['approve', 'deny', 'retry', 'proceed', 'release', 'none']),
  by: text,
  at: epochMs.optional(),
});

export const taintSchema = z.object({
  next: z.enum(['tainted', 'not-now', 'stay-isolated', 'release']),
  ...turn,
  /** How often it led back into hold-down, because the fault was not to be seen just then. */
  turnedBack: z.number(),
});

export const drainSchema = z.object({
  next: z.enum(['draining', 'drained', 'recheck', 'blocked', 'stay-isolated', 'release']),
  ...turn,
  /** The first drain of the attempt; pods and nodes that came later may be its consequence. */
  firstAt: epochMs,
  startedAt: epochMs,
  drainedAt: epochMs,
  passes: z.number(),
  /** Epoch ms since when the node has had no fault, 0 while it has one. */
  healthySince: epochMs,
  remaining: z.number(),
  waitSeconds: z.number(),
  approvalSeconds: z.number(),
});

export const replacementSchema = z.object({
  next: z.enum(['requested', 'not-now', 'stay-isolated', 'release']),
  ...turn,
  at: epochMs,
  claim: text,
  /** How often it led back into hold-down, because the fault was not to be seen just then. */
  turnedBack: z.number(),
});

export const verificationSchema = z.object({
  next: z.enum(['wait', 'verified', 'bad', 'timed-out']),
  ...turn,
  polls: z.number(),
  waitSeconds: z.number(),
  /** Epoch ms since when no pod has pended and no node has come, 0 while one does. */
  quietSince: epochMs,
  newNode: text,
});

export const releaseSchema = z.object({ ...turn });

export const failureSchema = z.object({ Error: text, Cause: text.optional() });

export const workflowStateSchema = attemptSchema.extend({
  confirm: confirmSchema.optional(),
  slot: slotSchema.optional(),
  isolation: isolationSchema.optional(),
  recovery: recoverySchema.optional(),
  restart: restartSchema.optional(),
  answer: answerSchema.optional(),
  place: slotSchema.optional(),
  taint: taintSchema.optional(),
  drain: drainSchema.optional(),
  replacement: replacementSchema.optional(),
  verification: verificationSchema.optional(),
  release: releaseSchema.optional(),
  failure: failureSchema.optional(),
});

export type WorkflowState = z.infer<typeof workflowStateSchema>;
export type ConfirmResult = z.infer<typeof confirmSchema>;
export type SlotResult = z.infer<typeof slotSchema>;
export type IsolationResult = z.infer<typeof isolationSchema>;
export type RecoveryResult = z.infer<typeof recoverySchema>;
export type RestartResult = z.infer<typeof restartSchema>;
export type AnswerResult = z.infer<typeof answerSchema>;
export type TaintResult = z.infer<typeof taintSchema>;
export type DrainResult = z.infer<typeof drainSchema>;
export type ReplacementResult = z.infer<typeof replacementSchema>;
export type VerificationResult = z.infer<typeof verificationSchema>;
export type ReleaseResult = z.infer<typeof releaseSchema>;

/** What each task of the machine is called with. */
export const taskEventSchema = z.object({
  state: workflowStateSchema,
  /** Execution ARN. */
  execution: text.min(1),
});
export type TaskEvent = z.infer<typeof taskEventSchema>;

export const approvalEventSchema = taskEventSchema.extend({
  question: z.enum(['replace', 'drain-blocked']),
  taskToken: text.min(1),
});
