/** How a pod that cannot start shows it: waiting reasons, Events and the time to the next try. */
import type { Pod } from '../../../lib/kubernetes/objects.ts';
import type { FaultKind } from '../faults.ts';
import { showWaiting } from '../pod-status.ts';
import { stamp, type World } from '../world.ts';

/** The period of the readiness probe. */
export const probeEveryMs = 10_000;

const sandboxRetryMs = 15_000;
const mountRetryMs = 60_000;

/** The kubelet's back-off for restarts and image pulls: 10 s, doubled up to 5 min. */
export function nextBackOff(failures: number): number {
  return Math.min(10_000 * 2 ** Math.min(failures, 5), 300_000);
}

type StartFault = Extract<FaultKind, 'image-pull' | 'config-error' | 'sandbox' | 'volume'>;

/** Shows one failed attempt to start. Returns the milliseconds until the kubelet tries again. */
export function blockStart(world: World, pod: Pod, kind: StartFault, failures: number): number {
  switch (kind) {
    case 'image-pull':
      return failPull(world, pod, failures);
    case 'config-error':
      wait(world, pod, {
        reason: 'CreateContainerConfigError',
        message: `configmap "${nameOf(pod)}-config" not found`,
        sandboxReady: true,
      });
      event(world, pod, 'Failed', `Error: configmap "${nameOf(pod)}-config" not found`);
      return probeEveryMs;
    case 'sandbox':
      wait(world, pod, { reason: 'ContainerCreating', sandboxReady: false });
      event(
        world,
        pod,
        'FailedCreatePodSandBox',
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container',
      );
      return sandboxRetryMs;
    case 'volume':
      wait(world, pod, { reason: 'ContainerCreating', sandboxReady: false });
      event(
        world,
        pod,
        'FailedMount',
        'MountVolume.MountDevice failed for volume "data" : rpc error: code = DeadlineExceeded desc = context deadline exceeded',
      );
      return mountRetryMs;
  }
}

/** Pulls fail in two looks that alternate: the failed try, then the wait for the next one. */
function failPull(world: World, pod: Pod, failures: number): number {
  const image = pod.spec.containers?.[0]?.image ?? '';
  const failed = failures % 2 === 0;
  if (failed) {
    const message = `failed to pull and unpack image "${image}": failed to resolve reference "${image}": ${image}: not found`;
    wait(world, pod, { reason: 'ErrImagePull', message, sandboxReady: true });
    event(world, pod, 'Failed', `Failed to pull image "${image}": ${message}`);
    return 1_000;
  }
  const message = `Back-off pulling image "${image}"`;
  wait(world, pod, { reason: 'ImagePullBackOff', message, sandboxReady: true });
  event(world, pod, 'BackOff', message);
  return nextBackOff((failures - 1) / 2);
}

function wait(world: World, pod: Pod, waiting: Parameters<typeof showWaiting>[2]): void {
  const before = JSON.stringify(pod.status);
  showWaiting(pod, stamp(world), waiting);
  if (JSON.stringify(pod.status) !== before) world.store.changed('pods', pod, 'status');
}

function event(world: World, pod: Pod, reason: string, message: string): void {
  world.recorder.record({
    kind: 'Pod',
    object: pod,
    type: 'Warning',
    reason,
    message,
    component: 'kubelet',
  });
}

function nameOf(pod: Pod): string {
  return pod.spec.containers?.[0]?.name ?? pod.metadata.name;
}
