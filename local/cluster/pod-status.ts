/** The status that a kubelet writes for a pod, in the words of k8s.io/kubernetes v1.34. */
import type {
  Condition,
  ContainerState,
  ContainerStatus,
  Pod,
} from '../../lib/kubernetes/objects.ts';

/** Sets one condition; lastTransitionTime moves only when the status does. */
export function setCondition(
  holder: { conditions?: Condition[] },
  condition: { type: string; status: string; reason?: string; message?: string },
  now: string,
): boolean {
  holder.conditions ??= [];
  const { conditions } = holder;
  const index = conditions.findIndex(({ type }) => type === condition.type);
  const earlier = conditions[index];
  const next: Condition = {
    ...condition,
    lastTransitionTime:
      earlier?.status === condition.status ? (earlier.lastTransitionTime ?? now) : now,
  };
  if (earlier === undefined) {
    conditions.push(next);
    return true;
  }
  const changed =
    earlier.status !== next.status ||
    earlier.reason !== next.reason ||
    earlier.message !== next.message;
  if (changed) {
    // Reason and message of the earlier status go with it.
    const { lastHeartbeatTime } = earlier;
    conditions[index] = {
      ...next,
      ...(lastHeartbeatTime === undefined ? {} : { lastHeartbeatTime }),
    };
  }
  return changed;
}

export function isReady(pod: Pod): boolean {
  return (pod.status.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
}

/** Phase Failed or Succeeded: it will never run again. */
export function isFinished(pod: Pod): boolean {
  return pod.status.phase === 'Failed' || pod.status.phase === 'Succeeded';
}

function setReadiness(pod: Pod, ready: boolean, now: string): void {
  const names = (pod.spec.containers ?? []).map(({ name }) => name);
  const verdict = ready
    ? { status: 'True' }
    : {
        status: 'False',
        reason: 'ContainersNotReady',
        message: `containers with unready status: [${names.join(' ')}]`,
      };
  setCondition(pod.status, { type: 'Ready', ...verdict }, now);
  setCondition(pod.status, { type: 'ContainersReady', ...verdict }, now);
}

function everyContainer(
  pod: Pod,
  status: (earlier: ContainerStatus | undefined) => Omit<ContainerStatus, 'name' | 'image'>,
): void {
  pod.status.containerStatuses = (pod.spec.containers ?? []).map(({ name, image }) => {
    const earlier = pod.status.containerStatuses?.find((entry) => entry.name === name);
    return {
      name,
      ...(image === undefined ? {} : { image }),
      ...status(earlier),
    };
  });
}

/** Containers that have never run wait for `reason`; the pod is Pending. */
export function showWaiting(
  pod: Pod,
  now: string,
  waiting: { reason: string; message?: string; sandboxReady: boolean },
): void {
  const { reason, message, sandboxReady } = waiting;
  pod.status.phase = 'Pending';
  pod.status.startTime ??= now;
  setCondition(
    pod.status,
    { type: 'PodReadyToStartContainers', status: sandboxReady ? 'True' : 'False' },
    now,
  );
  setCondition(pod.status, { type: 'Initialized', status: 'True' }, now);
  setReadiness(pod, false, now);
  everyContainer(pod, (earlier) => ({
    ready: false,
    started: false,
    restartCount: earlier?.restartCount ?? 0,
    state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
  }));
}

/** All containers run. A start after a crash keeps `lastState` and counts the restart. */
export function showRunning(pod: Pod, now: string, restarted: boolean): void {
  pod.status.phase = 'Running';
  setCondition(pod.status, { type: 'PodReadyToStartContainers', status: 'True' }, now);
  setReadiness(pod, false, now);
  everyContainer(pod, (earlier) => ({
    ready: false,
    started: true,
    restartCount: (earlier?.restartCount ?? 0) + (restarted ? 1 : 0),
    state: { running: { startedAt: now } },
    ...(earlier?.lastState === undefined ? {} : { lastState: earlier.lastState }),
  }));
}

/** Readiness of a running pod. */
export function showReady(pod: Pod, now: string, ready: boolean): void {
  for (const container of pod.status.containerStatuses ?? []) container.ready = ready;
  setReadiness(pod, ready, now);
}

/**
 * The containers have ended and wait to be started again. With a past termination the phase stays
 * Running, unlike that of a container that has never run.
 */
export function showBackOff(pod: Pod, now: string, oomKilled: boolean): void {
  const startedAt = pod.status.containerStatuses?.[0]?.state?.running?.startedAt ?? now;
  const terminated: ContainerState = {
    terminated: {
      exitCode: oomKilled ? 137 : 1,
      reason: oomKilled ? 'OOMKilled' : 'Error',
      startedAt,
      finishedAt: now,
    },
  };
  setReadiness(pod, false, now);
  everyContainer(pod, (earlier) => ({
    ready: false,
    started: false,
    restartCount: earlier?.restartCount ?? 0,
    state: {
      waiting: {
        reason: 'CrashLoopBackOff',
        message: `back-off restarting failed container of pod ${pod.metadata.name}`,
      },
    },
    lastState: terminated,
  }));
}

/** The kubelet will not take the pod. */
export function showRejected(pod: Pod, now: string, reason: string, message: string): void {
  pod.status.phase = 'Failed';
  pod.status.reason = reason;
  pod.status.message = message;
  pod.status.startTime ??= now;
}
