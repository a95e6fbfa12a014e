/**
 * What travels between the states of `remediate-node`: the five words of the attempt, and under
 * its own key the flat answer of each handler. Small on purpose (ids, codes, numbers): Step
 * Functions ends an execution whose state passes 256 KiB, and no Catch sees that.
 */
import type { Scope } from '../safety/scope.ts';
import * as z from '../zod.ts';

const text = z.string();
const someText = text.check(z.minLength(1));
const ordinal = z.int().check(z.positive());
const epochMs = z.number();

export const attemptSchema = z.object({
  cluster: someText,
  node: someText,
  nodeUid: someText,
  episode: ordinal,
  attempt: ordinal,
});

/** Why a flow turns: a stable code and words for a person. */
const turn = {
  code: text,
  message: text,
  /** Whose breaker it is, when it is one. */
  scopeKind: z.optional(z.enum(['pool', 'zone', 'cluster'])),
  scopeName: z.optional(text),
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
  /** Subjects of the faults, joined by commas. */
  daemonSets: text,
  /** The same in words. */
  faults: z.optional(text),
  cause: text,
  blame: text,
  since: epochMs,
  /** The node bears nodegap's mark or taint from before this attempt. */
  isolated: z.boolean(),
  /** Of the node as it was read; absent where it has none. */
  pool: z.optional(text),
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
  /** It stays isolated because nobody can tell how the node is. */
  doubt: z.optional(z.boolean()),
});

export const restartSchema = z.object({ ...turn, at: epochMs });

export const answerSchema = z.object({
  decision: z.enum([
    'approve',
    'deny',
    'retry',
    'proceed',
    'release',
    'none',
    // By the scan: the question has become pointless.
    'recovered',
    'gone',
    'refused',
  ]),
  by: text,
  at: z.optional(epochMs),
  /** How a person answered, and from where when that is known. */
  via: z.optional(z.enum(['cli', 'link', 'terminal'])),
  address: z.optional(text),
  /** Why no person is needed any more, when none decided. */
  ...z.partial(z.object(turn)).shape,
});

export const taintSchema = z.object({
  next: z.enum(['tainted', 'not-now', 'stay-isolated', 'release']),
  ...turn,
  /** How often it led back into hold-down, because the fault was not to be seen just then. */
  turnedBack: z.number(),
});

/** Where the evidence that a task saved lies (lib/evidence/trace.ts). */
const evidenceTrace = {
  evidence: z.optional(text),
  evidenceLink: z.optional(text),
  evidenceMissing: z.optional(text),
};

export const drainSchema = z.object({
  next: z.enum(['draining', 'drained', 'recheck', 'blocked', 'stay-isolated', 'release']),
  ...turn,
  /** The first drain of the attempt; pods and nodes that came later may be its consequence. */
  firstAt: epochMs,
  startedAt: epochMs,
  /** Since when the guards let nothing be evicted, while they do not. */
  heldSince: z.optional(epochMs),
  drainedAt: epochMs,
  /** Epoch ms at which no pod was left, while volumes are waited for. */
  leftAt: z.optional(epochMs),
  passes: z.number(),
  /** Epoch ms since when the node has had no fault, 0 while it has one. */
  healthySince: epochMs,
  remaining: z.number(),
  waitSeconds: z.number(),
  approvalSeconds: z.number(),
  ...evidenceTrace,
});

export const replacementSchema = z.object({
  next: z.enum(['requested', 'not-now', 'stay-isolated', 'release']),
  ...turn,
  at: epochMs,
  claim: text,
  /** How often it led back into hold-down, because the fault was not to be seen just then. */
  turnedBack: z.number(),
  ...evidenceTrace,
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

export const failureSchema = z.object({ Error: text, Cause: z.optional(text) });

export const workflowStateSchema = z.extend(attemptSchema, {
  confirm: z.optional(confirmSchema),
  slot: z.optional(slotSchema),
  isolation: z.optional(isolationSchema),
  recovery: z.optional(recoverySchema),
  restart: z.optional(restartSchema),
  answer: z.optional(answerSchema),
  place: z.optional(slotSchema),
  taint: z.optional(taintSchema),
  drain: z.optional(drainSchema),
  replacement: z.optional(replacementSchema),
  verification: z.optional(verificationSchema),
  release: z.optional(releaseSchema),
  failure: z.optional(failureSchema),
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
  execution: someText,
});
export type TaskEvent = z.infer<typeof taskEventSchema>;

export const approvalEventSchema = z.extend(taskEventSchema, {
  question: z.enum(['replace', 'drain-blocked']),
  taskToken: someText,
});
