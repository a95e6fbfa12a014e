/** The evictions of one pass: each pod whose turn it is once, in order. */
import type { Clock } from '../clock.ts';
import { isKubernetesError, type KubernetesError } from '../errors.ts';
import type { ClusterWriter, EvictionOutcome, PodRef } from '../ports.ts';
import type { DrainStep, GuardRefusal } from './drain-model.ts';
import type { BudgetBlock, PodPlan } from './drain-plan.ts';

export interface EvictionOptions {
  clock: Clock;
  /** Asked before each batch of evictions, on freshly read facts: rule 2. */
  stillAllowed(): Promise<GuardRefusal | undefined>;
  /** Hears of every pod that something was done to. */
  tell?: (step: DrainStep) => void;
  /** Evictions between two questions to `stillAllowed`. */
  batchSize?: number;
  /** Epoch ms after which no further batch is begun, to stay within the function's time. */
  stopAt?: number;
}

export interface Evictions {
  evicted: number;
  /** What the server answered, by pod uid; nothing for pods that were not tried. */
  outcomes: Map<string, EvictionOutcome>;
  retryAfterSeconds: number;
  refusal?: GuardRefusal;
}

const defaultBatchSize = 10;
/** Errors of the server one after the other, after which it is left alone for this pass. */
const mostServerErrors = 3;

/**
 * Tries to evict each pod once. One that cannot go does not stop the others, but for three things:
 * throttling and a server that fails again and again end the evictions of this pass, and when a
 * budget has said no, that counts for every other pod that it is charged for. Throws KubernetesError for an
 * eviction that is forbidden by RBAC or gets no answer; another pass does no harm.
 */
export async function evictAll(
  client: Pick<ClusterWriter, 'evictPod'>,
  pods: (PodPlan | BudgetBlock)[],
  options: EvictionOptions,
): Promise<Evictions> {
  const { clock, batchSize = defaultBatchSize, stopAt = Number.POSITIVE_INFINITY } = options;
  const done: Evictions = { evicted: 0, outcomes: new Map(), retryAfterSeconds: 0 };
  const exhausted = new Map<string, EvictionOutcome>();
  let sinceQuestion = batchSize;
  let serverErrors = 0;
  for (const planned of pods) {
    const known = isCharged(planned)
      ? planned.budgets.flatMap(({ budget }) => exhausted.get(budget) ?? [])[0]
      : undefined;
    if (known !== undefined) {
      done.outcomes.set(planned.pod.uid, known);
      continue;
    }
    if (sinceQuestion >= batchSize) {
      if (clock.now() >= stopAt) break;
      const refusal = await options.stillAllowed();
      if (refusal !== undefined) return { ...done, refusal };
      sinceQuestion = 0;
    }
    sinceQuestion += 1;
    const answer = await evictOne(client, planned.pod);
    if (answer.kind === 'throttled') {
      return { ...done, retryAfterSeconds: answer.error.retryAfterSeconds ?? 0 };
    }
    const { outcome } = answer;
    done.outcomes.set(planned.pod.uid, outcome);
    serverErrors = answer.kind === 'server-error' ? serverErrors + 1 : 0;
    if (serverErrors >= mostServerErrors) break;
    if (outcome.kind === 'accepted') {
      done.evicted += 1;
      const warnings = 'warnings' in planned ? planned.warnings : [];
      options.tell?.({ kind: 'evicted', pod: planned.pod, warnings });
    } else if (outcome.kind === 'blocked-by-budget') {
      for (const { budget } of planned.budgets) exhausted.set(budget, outcome);
    }
  }
  return done;
}

type Answer =
  | { kind: 'answered' | 'server-error'; outcome: EvictionOutcome }
  | { kind: 'throttled'; error: KubernetesError };

async function evictOne(client: Pick<ClusterWriter, 'evictPod'>, pod: PodRef): Promise<Answer> {
  try {
    return { kind: 'answered', outcome: await client.evictPod(pod) };
  } catch (error) {
    if (isKubernetesError(error, 'throttled')) return { kind: 'throttled', error };
    if (!isKubernetesError(error, 'server')) throw error;
    const outcome = { kind: 'retry' as const, message: error.message };
    return { kind: 'server-error', outcome };
  }
}

/** Whether the budget is charged for the pod: for an unready one it may not be. */
function isCharged(planned: PodPlan | BudgetBlock): boolean {
  return 'counts' in planned ? planned.counts : true;
}
