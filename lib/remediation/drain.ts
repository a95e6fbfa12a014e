/**
 * One pass of a drain: evict what the plan says, then look at the node again. A drain is a loop of
 * short passes with waits between them, so that no function sleeps, however long a pod's grace is.
 *
 * Pods leave only through the eviction API, with their uid as precondition; nothing is ever
 * deleted in its stead. Not waited for (left to a later issue): VolumeAttachments of the pods that
 * left.
 */
import type { Clock } from '../clock.ts';
import type { DrainConfig } from '../config/model.ts';
import { isKubernetesError } from '../errors.ts';
import type { ClusterReader, ClusterWriter, EvictionOutcome, PodRef } from '../ports.ts';
import type { Scope } from '../safety/scope.ts';
import type { BudgetState } from './budgets.ts';
import { type DrainPlan, type PodPlan, planDrain, stuckMessage } from './drain-plan.ts';

export type DrainReader = Pick<
  ClusterReader,
  'getNode' | 'listPodsOnNode' | 'listDaemonSets' | 'listPodDisruptionBudgets'
>;
export type DrainClient = DrainReader & Pick<ClusterWriter, 'evictPod'>;

/** Why nothing more may be evicted now. */
export interface GuardRefusal {
  code: string;
  message: string;
  /**
   * Why it may pass by itself: the node has no fault at the moment, its fault is not ripe, or
   * nobody can tell. Absent when it is for good.
   */
  passing?: 'healthy' | 'unripe' | 'doubt';
  /** The isolation is allowed, the drain is not any more. */
  staysIsolated?: true;
  /** Whose breaker it is, when it is one. */
  scope?: Scope;
}

/** A pod that holds the drain up. */
export interface DrainBlocker {
  kind: 'budget' | 'several-budgets' | 'needs-approval' | 'stuck-terminating' | 'refused';
  pod: PodRef;
  budgets: BudgetState[];
  message: string;
  /** Epoch ms since when it has been this pod with this kind. */
  since: number;
}

type Absent = { kind: 'node-gone' } | { kind: 'node-recreated'; uid: string };

export type DrainProgress =
  /** No pod is left that is to leave. */
  | { kind: 'drained'; evicted: number }
  | {
      kind: 'draining';
      evicted: number;
      /** Pods that are still to leave, those on their way out among them. */
      remaining: number;
      blockers: DrainBlocker[];
      nextPollSeconds: number;
      /** Epoch ms at which the longest grace of a pod on its way out ends. */
      graceEndsAt?: number;
    }
  | { kind: 'refused'; evicted: number; refusal: GuardRefusal }
  | Absent;

export interface DrainReadOptions {
  config: DrainConfig;
  clock: Clock;
  /** A person agreed to what needs approval. */
  approved?: boolean;
}

export interface DrainOptions extends DrainReadOptions {
  pollSeconds: number;
  /** Asked before each batch of evictions, on freshly read facts: rule 2. */
  stillAllowed(): Promise<GuardRefusal | undefined>;
  /** Evictions between two questions to `stillAllowed`. */
  batchSize?: number;
  /** Epoch ms after which no further batch is begun, to stay within the function's time. */
  stopAt?: number;
  /** Blockers of the pass before, so that `since` goes on. */
  previous?: DrainBlocker[];
}

const defaultBatchSize = 10;
/** A budget that frees itself needs a while (kubernetes semantics §3.2). */
const leastPollSeconds = 5;

/**
 * Reads the node, its pods, the DaemonSets and the budgets, in an order that is safe, and plans.
 * Throws KubernetesError when one of the reads fails: a drain is never planned on half of them.
 */
export async function readDrainPlan(
  client: DrainReader,
  target: { node: string; nodeUid: string },
  options: DrainReadOptions,
): Promise<{ kind: 'plan'; plan: DrainPlan } | Absent> {
  const node = await client.getNode(target.node);
  if (node === undefined) return { kind: 'node-gone' };
  if (node.metadata.uid !== target.nodeUid) {
    return { kind: 'node-recreated', uid: node.metadata.uid };
  }
  const pods = await client.listPodsOnNode(target.node);
  const daemonSets = await client.listDaemonSets();
  const budgets = await client.listPodDisruptionBudgets();
  const { config, clock, approved = false } = options;
  const now = clock.now();
  const plan = planDrain({ node, pods, daemonSets, budgets, config, now, approved });
  return { kind: 'plan', plan };
}

/**
 * Evicts the pods of `plan` once each and tells what is left, by a fresh read. Pods whose budget
 * seems exhausted are tried too, since only the server knows; those with several budgets are not.
 * Throttling ends the evictions of this pass. Throws KubernetesError for a read that fails and for
 * an eviction that is forbidden or gets no answer; another pass does no harm.
 */
export async function drainPass(
  client: DrainClient,
  plan: DrainPlan,
  options: DrainOptions,
): Promise<DrainProgress> {
  const evictions = await evictAll(client, plan, options);
  const { evicted } = evictions;
  if (evictions.refusal !== undefined) {
    return { kind: 'refused', evicted, refusal: evictions.refusal };
  }
  const fresh = await readDrainPlan(client, plan, options);
  if (fresh.kind !== 'plan') return fresh;
  const left = fresh.plan;
  const remaining =
    left.evict.length +
    left.orphanDaemonPods.length +
    left.waitOnly.length +
    left.needsApproval.length +
    left.blockedByBudget.length;
  if (remaining === 0) return { kind: 'drained', evicted };
  const poll = Math.max(leastPollSeconds, options.pollSeconds, evictions.retryAfterSeconds);
  const deadlines = left.waitOnly.map((waiting) => waiting.deadline);
  return {
    kind: 'draining',
    evicted,
    remaining,
    blockers: blockersOf(left, evictions.outcomes, options),
    nextPollSeconds: Math.ceil(poll),
    ...(deadlines.length > 0 ? { graceEndsAt: Math.max(...deadlines) } : {}),
  };
}

interface Evictions {
  evicted: number;
  outcomes: Map<string, EvictionOutcome>;
  retryAfterSeconds: number;
  refusal?: GuardRefusal;
}

async function evictAll(
  client: DrainClient,
  plan: DrainPlan,
  options: DrainOptions,
): Promise<Evictions> {
  const { clock, batchSize = defaultBatchSize, stopAt = Number.POSITIVE_INFINITY } = options;
  const pods = [
    ...plan.evict,
    ...plan.orphanDaemonPods,
    ...plan.blockedByBudget.filter((blocked) => !blocked.permanent),
  ].map((planned) => planned.pod);
  const done: Evictions = { evicted: 0, outcomes: new Map(), retryAfterSeconds: 0 };
  for (let first = 0; first < pods.length && clock.now() < stopAt; first += batchSize) {
    const refusal = await options.stillAllowed();
    if (refusal !== undefined) return { ...done, refusal };
    for (const pod of pods.slice(first, first + batchSize)) {
      try {
        const outcome = await client.evictPod(pod);
        done.outcomes.set(pod.uid, outcome);
        if (outcome.kind === 'accepted') done.evicted += 1;
      } catch (error) {
        if (!isKubernetesError(error, 'throttled')) throw error;
        return { ...done, retryAfterSeconds: error.retryAfterSeconds ?? 0 };
      }
    }
  }
  return done;
}

/** Who holds the drain up: by the fresh plan, or else by the server's answer to the eviction. */
function blockersOf(
  left: DrainPlan,
  outcomes: Map<string, EvictionOutcome>,
  options: DrainOptions,
): DrainBlocker[] {
  const found: Omit<DrainBlocker, 'since'>[] = [
    ...left.blockedByBudget.map(({ pod, budgets, permanent, message }) => ({
      kind: permanent ? ('several-budgets' as const) : ('budget' as const),
      pod,
      budgets,
      message,
    })),
    ...left.needsApproval.map(({ pod, reasons }) => ({
      kind: 'needs-approval' as const,
      pod,
      budgets: [],
      message: reasons.map((reason) => reason.message).join('; '),
    })),
    ...left.waitOnly
      .filter((waiting) => waiting.stuck)
      .map((waiting) => ({
        kind: 'stuck-terminating' as const,
        pod: waiting.pod,
        budgets: [],
        message: stuckMessage(waiting),
      })),
    ...[...left.evict, ...left.orphanDaemonPods].flatMap((planned) =>
      refusedBlocker(planned, outcomes.get(planned.pod.uid)),
    ),
  ];
  const now = options.clock.now();
  return found.map((blocker) => {
    const before = options.previous?.find(
      (earlier) => earlier.pod.uid === blocker.pod.uid && earlier.kind === blocker.kind,
    );
    return { ...blocker, since: before?.since ?? now };
  });
}

const blockerKinds = {
  'blocked-by-budget': 'budget',
  'several-budgets': 'several-budgets',
  retry: 'refused',
} as const;

function refusedBlocker(
  planned: PodPlan,
  outcome: EvictionOutcome | undefined,
): Omit<DrainBlocker, 'since'>[] {
  if (outcome === undefined || outcome.kind === 'accepted' || outcome.kind === 'gone') return [];
  const { pod, budgets } = planned;
  const names = budgets.map((state) => state.budget).join(' and ');
  const message = names === '' ? outcome.message : `${outcome.message} (${names})`;
  return [{ kind: blockerKinds[outcome.kind], pod, budgets, message }];
}
