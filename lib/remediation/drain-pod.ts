/** What a drain looks at in one pod. Pure. */
import type { DrainConfig, ForceReason } from '../config/model.ts';
import type { DaemonSet, OwnerReference, Pod } from '../kubernetes/objects.ts';
import type { PodRef } from '../ports.ts';
import { type Protection, protectionOf } from './protection.ts';

/** Why a person is asked before a pod is evicted. */
export interface ApprovalReason {
  code: Protection['code'] | 'bare-pod' | 'empty-dir';
  message: string;
}

const bareMessage = 'has no controller: nothing brings the pod back elsewhere';

/**
 * Why the eviction of this pod needs a person at `now` (epoch ms), without the reasons that are
 * `waived` by the configuration.
 */
export function approvalReasons(
  pod: Pod,
  config: DrainConfig,
  now: number,
  waived: readonly ForceReason[] = [],
): ApprovalReason[] {
  const reasons: ApprovalReason[] = [];
  if (controllerOf(pod) === undefined && config.barePods === 'ask') {
    reasons.push({ code: 'bare-pod', message: bareMessage });
  }
  const emptyDirs = emptyDirsOf(pod);
  if (emptyDirs.length > 0 && config.emptyDir === 'ask') {
    reasons.push({ code: 'empty-dir', message: emptyDirMessage(emptyDirs) });
  }
  const protection = protectionOf(pod, now);
  if (protection !== undefined) reasons.push(protection);
  return reasons.filter(({ code }) => !waived.includes(code));
}

/** What is lost by the pod's eviction, and what it asked for in vain. */
export function lossesOf(pod: Pod, now: number): string[] {
  const emptyDirs = emptyDirsOf(pod);
  const protection = protectionOf(pod, now);
  return [
    ...(controllerOf(pod) === undefined ? [bareMessage] : []),
    ...(emptyDirs.length > 0 ? [emptyDirMessage(emptyDirs)] : []),
    ...(protection === undefined ? [] : [protection.message]),
  ];
}

function emptyDirMessage(volumes: string[]): string {
  return `the data in its emptyDir volumes ${volumes.join(', ')} is lost`;
}

function emptyDirsOf(pod: Pod): string[] {
  return (pod.spec.volumes ?? [])
    .filter((volume) => volume.emptyDir !== undefined)
    .map((volume) => volume.name);
}

/** Seconds that the pod has to end; Kubernetes fills in 30 where its author says nothing. */
export function graceOf(pod: Pod): number {
  return pod.spec.terminationGracePeriodSeconds ?? 30;
}

export function controllerOf(pod: Pod): OwnerReference | undefined {
  return pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

export function isDaemonPod(pod: Pod): boolean {
  const owner = controllerOf(pod);
  return owner?.kind === 'DaemonSet' && owner.apiVersion === 'apps/v1';
}

/** A pod of a DaemonSet that does not exist any more. */
export function isOrphan(pod: Pod, daemonSets: DaemonSet[]): boolean {
  const uid = controllerOf(pod)?.uid;
  return isDaemonPod(pod) && !daemonSets.some(({ metadata }) => metadata.uid === uid);
}

export function refOf(pod: Pod): PodRef {
  const { namespace = '', name, uid } = pod.metadata;
  return { namespace, name, uid };
}
