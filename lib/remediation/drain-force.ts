/**
 * Deletion of pods that cannot be evicted, past their budgets: the last resort of a drain, off
 * unless the configuration names what may be overridden (drain.force), and never before the time of
 * the drain is over.
 *
 * What makes it bearable
 * - Only pods whose turn it is, whose eviction was just refused, and of which everything that speaks
 *   against it is named. A person's consent to evict a protected pod is none to delete it.
 * - Every guard is read again before each one, and the pod itself; the deletion names uid and
 *   resourceVersion, so it is of the pod as it was read.
 * - Of the pods of one budget at most one a pass, so that its replacement has a chance to come up.
 * - A grace of at least a second: with none the object goes while its containers may run on, which
 *   for a StatefulSet is two of the same.
 */
import type { Clock } from '../clock.ts';
import type { DrainConfig, ForceConfig } from '../config/model.ts';
import { isKubernetesError } from '../errors.ts';
import type { Pod } from '../kubernetes/objects.ts';
import type { ClusterReader, ClusterWriter, EvictionOutcome, PodRef } from '../ports.ts';
import type { DrainStep, GuardRefusal } from './drain-model.ts';
import type { Turn } from './drain-order.ts';
import { approvalReasons, graceOf as ownGraceOf } from './drain-pod.ts';

export interface ForceOptions {
  config: DrainConfig;
  clock: Clock;
  stillAllowed(): Promise<GuardRefusal | undefined>;
  tell?: (step: DrainStep) => void;
  stopAt?: number;
}

export interface Forced {
  /** Pods that may be deleted and were not tried: their budget's turn was another's, or no time. */
  untried: number;
  /** Why a pod that might be deleted was not, by its uid. */
  kept: Map<string, string>;
  refusal?: GuardRefusal;
}

export interface Candidate {
  pod: PodRef;
  budgets: string[];
  because: string;
}

/** The pods that may be deleted by what was answered to their eviction. Pure. */
export function forceCandidates(
  turn: Turn,
  outcomes: Map<string, EvictionOutcome>,
  { pods: named }: ForceConfig,
): Candidate[] {
  const refused = turn.now.flatMap(({ pod, budgets }): Candidate[] => {
    const outcome = outcomes.get(pod.uid);
    const names = budgets.map(({ budget }) => budget);
    switch (outcome?.kind) {
      case 'blocked-by-budget':
      case 'several-budgets':
        return named.includes('budget') ? [{ pod, budgets: names, because: outcome.message }] : [];
      case 'denied':
        return named.includes('denied') ? [{ pod, budgets: names, because: outcome.message }] : [];
      default:
        return [];
    }
  });
  const hopeless = turn.hopeless.map(({ pod, budgets, message }) => ({
    pod,
    budgets: budgets.map(({ budget }) => budget),
    because: message,
  }));
  return [...refused, ...(named.includes('budget') ? hopeless : [])];
}

/**
 * Deletes the candidates, at most one of each budget. Throws KubernetesError for what is neither a
 * missing right nor a pod that changed.
 */
export async function forceAll(
  client: Pick<ClusterReader, 'getPod'> & Pick<ClusterWriter, 'deletePod'>,
  candidates: Candidate[],
  options: ForceOptions,
): Promise<Forced> {
  const { clock, config, stopAt = Number.POSITIVE_INFINITY } = options;
  const done: Forced = { untried: 0, kept: new Map() };
  const used = new Set<string>();
  for (const { pod, budgets, because } of candidates) {
    if (clock.now() >= stopAt || budgets.some((budget) => used.has(budget))) {
      done.untried += 1;
      continue;
    }
    const refusal = await options.stillAllowed();
    if (refusal !== undefined) return { ...done, refusal };
    const fresh = await client.getPod(pod.namespace, pod.name);
    if (fresh?.metadata.uid !== pod.uid || isLeaving(fresh)) continue;
    const reasons = approvalReasons(fresh, config, clock.now(), config.force.pods);
    if (reasons.length > 0) {
      done.kept.set(pod.uid, reasons.map(({ message }) => message).join('; '));
      continue;
    }
    const graceSeconds = graceOf(fresh, config.force);
    const { resourceVersion = '' } = fresh.metadata;
    try {
      const outcome = await client.deletePod({ ...pod, resourceVersion }, graceSeconds);
      for (const budget of budgets) used.add(budget);
      if (outcome === 'accepted') options.tell?.({ kind: 'deleted', pod, because, graceSeconds });
      else if (outcome === 'changed') done.untried += 1;
    } catch (error) {
      if (!isKubernetesError(error, 'forbidden')) throw error;
      // Without the right none can be deleted: the pods stay what they were, blockers.
      done.kept.set(
        pod.uid,
        `may not be deleted, see nodegap rbac --force-drain: ${error.message}`,
      );
      return done;
    }
  }
  return done;
}

function isLeaving(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** Seconds; Kubernetes' default of 30 where the pod names none. */
function graceOf(pod: Pod, { grace }: ForceConfig): number {
  return Math.max(1, grace === 'own' ? ownGraceOf(pod) : grace);
}
