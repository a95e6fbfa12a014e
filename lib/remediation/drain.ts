/**
 * One pass of a drain: evict what the plan says, then look at the node again. A drain is a loop of
 * short passes with waits between them, so that no function sleeps, however long a pod's grace is.
 *
 * Pods leave through the eviction API, with their uid as precondition. Nothing is deleted in its
 * stead, unless the configuration says so in so many words (drain-force.ts).
 */
import type { Clock } from '../clock.ts';
import type { DrainConfig } from '../config/model.ts';
import type { ClusterReader, ClusterWriter } from '../ports.ts';
import { blockersOf } from './drain-blockers.ts';
import { type Forced, forceAll, forceCandidates } from './drain-force.ts';
import type { Absent, DrainBlocker, Draining, DrainProgress } from './drain-model.ts';
import { turnOf } from './drain-order.ts';
import { type DrainPlan, planDrain } from './drain-plan.ts';
import { type EvictionOptions, type Evictions, evictAll } from './evictions.ts';
import { readIdleVolumes, type VolumeReader } from './volumes.ts';

export type DrainReader = Pick<
  ClusterReader,
  'getNode' | 'getPod' | 'listPodsOnNode' | 'listDaemonSets' | 'listPodDisruptionBudgets'
> &
  VolumeReader;
export type DrainClient = DrainReader & Pick<ClusterWriter, 'evictPod' | 'deletePod'>;

export interface DrainReadOptions {
  config: DrainConfig;
  clock: Clock;
  /** A person agreed to what needs approval. */
  approved?: boolean;
  /** The time of the drain is over: what drain.force names is overridden. */
  isOver?: boolean;
}

export interface DrainOptions extends DrainReadOptions, EvictionOptions {
  pollSeconds: number;
  /** Blockers of the pass before, so that `since` goes on. */
  previous?: DrainBlocker[];
  /** The machine is ended next: tell which volumes of the pods that left hang on it. */
  awaitVolumes?: boolean;
}

/** A budget that frees itself needs a while (kubernetes semantics §3.2). */
const leastPollSeconds = 5;
/** Pods that are named of those on their way out. */
const mostLeaving = 5;

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
  const { config, clock, approved = false, isOver = false } = options;
  const now = clock.now();
  const waived = isOver ? config.force.pods : [];
  const plan = planDrain({ node, pods, daemonSets, budgets, config, now, approved, waived });
  return { kind: 'plan', plan };
}

/**
 * Evicts the pods of `plan` whose turn it is once each, deletes what may be deleted, and tells what
 * is left, by a fresh read. Pods whose budget seems exhausted are tried too, since only the server
 * knows; those with several budgets are not. Throws KubernetesError for a read that fails and for
 * an eviction that is forbidden or gets no answer; another pass does no harm.
 */
export async function drainPass(
  client: DrainClient,
  plan: DrainPlan,
  options: DrainOptions,
): Promise<DrainProgress> {
  const turn = turnOf(plan);
  const evictions = await evictAll(client, turn.now, options);
  const { evicted } = evictions;
  if (evictions.refusal !== undefined) {
    return { kind: 'refused', evicted, refusal: evictions.refusal };
  }
  const { force } = options.config;
  const mayForce = options.isOver === true && force.pods.length > 0;
  const candidates = mayForce ? forceCandidates(turn, evictions.outcomes, force) : [];
  const forced = await forceAll(client, candidates, options);
  if (forced.refusal !== undefined) return { kind: 'refused', evicted, refusal: forced.refusal };

  const fresh = await readDrainPlan(client, plan, options);
  if (fresh.kind !== 'plan') return fresh;
  const progress = progressOf(fresh.plan, evictions, forced, options);
  const endsIt = options.isOver === true && options.config.atDeadline === 'proceed';
  const isEnd = progress.remaining === 0 || endsIt;
  const volumes =
    isEnd && options.awaitVolumes ? await readIdleVolumes(client, plan.node) : progress.volumes;
  return progress.remaining === 0
    ? { kind: 'drained', evicted, volumes }
    : { ...progress, forced: mayForce, volumes };
}

function progressOf(
  left: DrainPlan,
  evictions: Evictions,
  forced: Forced,
  options: DrainOptions,
): Draining {
  const lists = [
    left.evict,
    left.orphanDaemonPods,
    left.waitOnly,
    left.needsApproval,
    left.blockedByBudget,
  ];
  const heldBack = turnOf(left).heldBack.map(({ pod }) => pod.uid);
  const blockers = blockersOf(left, {
    outcomes: evictions.outcomes,
    kept: forced.kept,
    previous: options.previous ?? [],
    now: options.clock.now(),
  });
  const poll = Math.max(leastPollSeconds, options.pollSeconds, evictions.retryAfterSeconds);
  return {
    kind: 'draining',
    evicted: evictions.evicted,
    remaining: lists.reduce((sum, list) => sum + list.length, 0),
    blockers,
    heldBack: heldBack.filter((uid) => !blockers.some(({ pod }) => pod.uid === uid)).length,
    leaving: left.waitOnly
      .filter(({ stuck }) => !stuck)
      .map(({ pod, deadline }) => ({ pod, until: deadline }))
      .sort((a, b) => b.until - a.until)
      .slice(0, mostLeaving),
    nextPollSeconds: Math.ceil(poll),
    forced: false,
    untried: forced.untried,
    volumes: [],
  };
}
