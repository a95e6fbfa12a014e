/** What happens while `nodegap remediate` works, told as it happens: cli/terminal shows it. */
import type { Notice } from '../../lib/ports.ts';
import type { Answer, Approval } from '../../lib/safety/approvals.ts';

export type RemediateEvent = { /** Epoch ms. */ at: number } & (
  | {
      /** The fault is there and not ripe: looks again at `until` (epoch ms). */
      kind: 'waiting';
      code: string;
      message: string;
      until: number;
    }
  /** What another process left was taken over. */
  | { kind: 'taken-over'; message: string }
  | { kind: 'started'; execution: string; episode: number; attempt: number }
  /** The machine entered a state; `type` as in its definition: Task, Wait, Choice, Pass, Succeed. */
  | { kind: 'entered'; state: string; type: string }
  /** The task of a state answered: `result` is all of its answer. */
  | {
      kind: 'answered';
      state: string;
      code: string;
      message: string;
      result: Readonly<Record<string, unknown>>;
    }
  /** A task failed and is tried again, or its failure was caught. */
  | { kind: 'failed'; state: string; message: string }
  /** A scan beside the machine failed; the next one comes. */
  | { kind: 'scan-failed'; message: string }
  /** What people would be told by mail in an account. */
  | { kind: 'notified'; notice: Notice }
  /** A question to the person at the terminal, and what became of it. */
  | { kind: 'asked'; approval: Approval }
  | { kind: 'decided'; approval: Approval; decision: Answer | 'none'; by: string }
  /** A signal came: what is done about it, a line each. */
  | { kind: 'interrupted'; message: string }
);

/**
 * Asks the person at the terminal. Undefined is no answer: the question is out of time, `signal` was
 * aborted, or standard input ended.
 */
export type AskPerson = (approval: Approval, signal: AbortSignal) => Promise<Answer | undefined>;
