/** Whether a gap can be the update of its DaemonSet at work. */
import type { DaemonSet, Pod, PodSpec } from '../kubernetes/objects.ts';

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

/** Images of the containers, as far as pod or template tell: bulk reads leave them out of Ready pods. */
export function imagesOf({ containers }: PodSpec): string | undefined {
  if (containers === undefined) return undefined;
  const images = containers.flatMap(({ image }) => (image === undefined ? [] : [image]));
  return images.length === 0 ? undefined : images.join(', ');
}

/**
 * How long the pods of an update have to become Ready and count as available, ms. From then on an
 * update of which none is Ready is stalled.
 */
export function updateDeadlineMs({ spec }: DaemonSet, podGraceMs: number): number {
  return podGraceMs + (spec.minReadySeconds ?? 0) * 1000;
}

/** The controller has not yet acted on the newest template. */
export function isUnobserved({ metadata, status }: DaemonSet): boolean {
  const { generation } = metadata;
  const { observedGeneration } = status;
  return (
    generation !== undefined && observedGeneration !== undefined && generation > observedGeneration
  );
}

export function isOnDelete({ spec }: DaemonSet): boolean {
  return spec.updateStrategy?.type === 'OnDelete';
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
  return {
    unobserved: isUnobserved(daemonSet),
    inProgress: !isOnDelete(daemonSet) && revisions.size > 1,
    allowance: allowanceOf(daemonSet, desired),
  };
}

/**
 * maxUnavailable in nodes, a percentage of `desired` rounded up, as the controller does (k8s.io/
 * kubernetes pkg/controller/daemon/util UnavailableCount). With maxSurge the old pod stays until
 * the new one is available. The controller takes one node when both are 0.
 */
export function allowanceOf({ spec }: DaemonSet, desired: number): number {
  const { maxUnavailable, maxSurge } = spec.updateStrategy?.rollingUpdate ?? {};
  const surge = scaled(maxSurge ?? 0, desired);
  const unavailable = scaled(maxUnavailable ?? (surge === 0 ? 1 : 0), desired);
  return surge === 0 && unavailable === 0 ? 1 : unavailable;
}

/** A number, or a percentage rounded up; what is neither allows nothing. */
function scaled(value: number | string, desired: number): number {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? 0 : Math.ceil((Number(percent) * desired) / 100);
}
