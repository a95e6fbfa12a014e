/** Whether a gap can be the update of its DaemonSet at work. */
import type { DaemonSet, Pod } from '../kubernetes/objects.ts';

/** How the update of a DaemonSet stands, as far as its pods and its status tell. */
export interface Rollout {
  /** The controller has not yet seen the newest template. */
  unobserved: boolean;
  /** Pods of more than one revision are there and the controller is replacing the old ones. */
  inProgress: boolean;
  /** Nodes that the update strategy lets be without a Ready pod. */
  allowance: number;
}

/** Label of the template revision that a pod was made from. */
export function revisionOf(pod: Pod): string | undefined {
  return pod.metadata.labels?.['controller-revision-hash'];
}

/**
 * `revisions` are those of all its pods, `desired` the nodes it should run on. Status counters are
 * not used: the controller does not refresh them on every change that matters.
 */
export function rolloutOf(
  daemonSet: DaemonSet,
  revisions: ReadonlySet<string>,
  desired: number,
): Rollout {
  const { generation } = daemonSet.metadata;
  const observed = daemonSet.status.observedGeneration;
  const onDelete = daemonSet.spec.updateStrategy?.type === 'OnDelete';
  return {
    unobserved: generation !== undefined && observed !== undefined && generation > observed,
    inProgress: !onDelete && revisions.size > 1,
    allowance: allowanceOf(daemonSet, desired),
  };
}

/** maxUnavailable in nodes, a percentage rounded up; with maxSurge the old pod stays until then. */
function allowanceOf({ spec }: DaemonSet, desired: number): number {
  const update = spec.updateStrategy?.rollingUpdate;
  const value = update?.maxUnavailable ?? (isZero(update?.maxSurge) ? 1 : 0);
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? 1 : Math.ceil((Number(percent) * desired) / 100);
}

function isZero(value: number | string | undefined): boolean {
  return value === undefined || value === 0 || value === '0' || value === '0%';
}
