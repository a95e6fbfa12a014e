/** What every contender gets: the same pools, DaemonSets, workload, faults and distractions. */
import { below, seededRandom } from '../../local/cluster/random.ts';
import type { Outcome } from '../../test/e2e/harness/faults.ts';

export const pools = ['blue', 'green', 'gold', 'amber', 'plum'] as const;
export type Pool = (typeof pools)[number];

export const poolSize = 5;
export const poolLabel = 'karpenter.sh/nodepool';
/** On every node of the pool gold: the agent does not tolerate it. */
export const dedicated = { key: 'dedicated', value: 'gold', effect: 'NoSchedule' } as const;

/** The DaemonSets, all in kube-system and all node-critical. */
export const daemonSets = ['cni', 'csi', 'agent', 'gpu', 'meter', 'edge'] as const;
export type DaemonSetName = (typeof daemonSets)[number];

/** DaemonSets that are meant for one pool, by nodeSelector. */
export const onlyIn: Partial<Record<DaemonSetName, Pool>> = {
  gpu: 'gold',
  meter: 'plum',
  edge: 'plum',
};

/** Whether the DaemonSet should run on the nodes of a pool, and what keeps it from there. */
export function placement(
  daemonSet: string,
  pool: string,
): 'meant' | 'not-meant' | 'kept-out-by-taint' {
  const only = onlyIn[daemonSet as DaemonSetName];
  if (only !== undefined && only !== pool) return 'not-meant';
  return daemonSet === 'agent' && pool === 'gold' ? 'kept-out-by-taint' : 'meant';
}

/** The DaemonSets that a healthy node of the pool runs. */
export function meantFor(pool: string): DaemonSetName[] {
  return daemonSets.filter((name) => placement(name, pool) === 'meant');
}

/** Two workloads a pool, one pod of each on every node, under one budget that lets one pod go. */
export const workloads = ['web', 'api'] as const;

/** A fault of one node, made on purpose. */
export interface PlannedGap {
  id: string;
  /** Seconds from the start. */
  at: number;
  pool: Pool;
  daemonSet: DaemonSetName;
  outcome: Outcome;
  /** A new pod on the node would be well. */
  until?: 'restart';
}

/** The node of which the kubelet falls silent at the start; all its pairs are gaps. */
export const silentPool: Pool = 'amber';

/** Seconds from the start; by then the first faults can be repaired. */
export const secondWave = 270;

export const plannedGaps: readonly PlannedGap[] = [
  { id: 'cni-not-ready', at: 0, pool: 'blue', daemonSet: 'cni', outcome: 'never-ready' },
  { id: 'agent-image-pull', at: 0, pool: 'green', daemonSet: 'agent', outcome: 'image-pull' },
  { id: 'csi-sandbox', at: 0, pool: 'gold', daemonSet: 'csi', outcome: 'sandbox' },
  { id: 'csi-crash-loop', at: secondWave, pool: 'blue', daemonSet: 'csi', outcome: 'crash-loop' },
  {
    id: 'cni-oom-killed',
    at: secondWave,
    pool: 'green',
    daemonSet: 'cni',
    outcome: 'oom-killed',
    until: 'restart',
  },
  { id: 'gpu-not-ready', at: secondWave, pool: 'gold', daemonSet: 'gpu', outcome: 'never-ready' },
];

/** Seconds from the start. */
export const schedule = {
  /** A pod of each faulty DaemonSet is made anew on a healthy node, as happens all day. */
  witnessAfter: 5,
  /** The workload of plum grows by one pod, which needs a new node. */
  newNode: 30,
  /** The DaemonSet meter gets a new image; all is well with it. */
  rollout: 100,
  /** The DaemonSet edge gets an image that crashes, with maxUnavailable 1; and it is mended. */
  badRelease: 510,
  mended: 620,
  /** Karpenter repairs after 10 minutes of NotReady, which begin up to half a minute late. */
  end: 730,
} as const;

/** Seconds that the CNI takes to become Ready on a new node. */
export const slowStartSeconds = 15;
/** Seconds that each pod of the rollout takes to become Ready. */
export const rolloutPodSeconds = 10;

/**
 * In which order the nodes of a pool, sorted by name, are taken for faults (the last one is the one
 * on which pods are made anew): the same for every contender.
 */
export function orderOf(pool: Pool, seed: number): number[] {
  const random = seededRandom(seed * 31 + pools.indexOf(pool));
  const order = Array.from({ length: poolSize }, (_, index) => index);
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = below(random, last + 1);
    const [a = 0, b = 0] = [order[last], order[other]];
    order[last] = b;
    order[other] = a;
  }
  return order;
}
