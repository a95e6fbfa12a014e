/**
 * What each answer to an eviction means (API-initiated eviction, policy/v1; the answers are those
 * of kube-apiserver's eviction REST handler). Pure: asking and looking again are the caller's.
 */

import type { EvictionOutcome } from '../ports.ts';
import { AnsweredError, hasCause, UnreachableError } from './errors.ts';

/** What to do about a failed eviction: it is settled, the pod must be looked at, or it is thrown. */
export type EvictionReading =
  | { kind: 'settled'; outcome: EvictionOutcome }
  | { kind: 'look-again'; message: string }
  | { kind: 'failed' };

/** True for the refusal of a request whose uid precondition names another object. */
export function isUidMismatch(error: unknown): boolean {
  return (
    error instanceof AnsweredError &&
    error.kind === 'conflict' &&
    /UID in (the )?precondition/i.test(error.answer.message)
  );
}

/** True when the API server itself says that the object is not there. */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof AnsweredError &&
    error.kind === 'not-found' &&
    error.answer.reason === 'NotFound'
  );
}

/** Reads what an eviction threw. */
export function readEvictionError(error: unknown): EvictionReading {
  // The server may have carried it out: sent again with the same uid it does no harm.
  if (error instanceof UnreachableError) {
    return error.mayHaveHappened ? retry(error.message) : { kind: 'failed' };
  }
  if (!(error instanceof AnsweredError)) return { kind: 'failed' };
  const { answer, status } = error;
  if (isAbsent(error) || isUidMismatch(error)) return settled({ kind: 'gone' });
  // Before the codes are looked at: a webhook answers with whichever it likes, 429 and 500 too.
  if (isDenial(answer.message)) return settled({ kind: 'denied', message: answer.message });
  switch (error.kind) {
    case 'disruption-budget':
      return settled({ kind: 'blocked-by-budget', message: budgetMessage(error) });
    case 'conflict':
      // Lost a race with an update of the pod's status.
      return { kind: 'look-again', message: answer.message };
    case 'forbidden':
      if (hasCause(answer, 'NamespaceTerminating')) {
        return { kind: 'look-again', message: answer.message };
      }
      // The budget's own bookkeeping is in trouble: it mends itself, or the drain's deadline comes.
      if (/disruptions allowed is negative|DisruptedPods map too big/i.test(answer.message)) {
        return retry(answer.message);
      }
      return { kind: 'failed' };
    case 'server':
      if (answer.message.startsWith('This pod has more than one PodDisruptionBudget')) {
        return settled({ kind: 'several-budgets', message: answer.message });
      }
      // Conflicts while it counted the budget down.
      if (answer.reason === 'Timeout' || status === 504) return retry(answer.message);
      return { kind: 'failed' };
    default:
      return { kind: 'failed' };
  }
}

/**
 * True for a "no" of admission, in the words of kube-apiserver: a webhook or a
 * ValidatingAdmissionPolicy refuses this object, or its webhook cannot be called.
 */
function isDenial(message: string): boolean {
  return (
    /^admission webhook "[^"]*" denied the request/.test(message) ||
    /ValidatingAdmissionPolicy '[^']*' .*denied request/.test(message) ||
    /failed calling webhook "/.test(message)
  );
}

/** The refusal with the cause's message, which names the budget and its numbers. */
function budgetMessage(error: AnsweredError): string {
  const cause = error.answer.causes.find(({ reason }) => reason === 'DisruptionBudget');
  return [error.answer.message, cause?.message ?? ''].filter((part) => part !== '').join(' ');
}

function retry(message: string): EvictionReading {
  return settled({ kind: 'retry', message });
}

function settled(outcome: EvictionOutcome): EvictionReading {
  return { kind: 'settled', outcome };
}
