/**
 * What the kubelet says of one container.
 *
 * Gotchas: `waiting.reason` swings between ErrImagePull and ImagePullBackOff, between a bare
 * `terminated` and CrashLoopBackOff, and between an error and no reason at all, so each form is the
 * same cause. A container seen running for a moment between two crashes has not recovered.
 */
import { parseTime } from '../clock.ts';
import type { ContainerStatus, Pod } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Cause } from './model.ts';
import { ago, shorten } from './words.ts';

const causeOfWaiting: ReadonlyMap<string, Cause> = new Map([
  ['ErrImagePull', 'image-pull'],
  ['ImagePullBackOff', 'image-pull'],
  ['RegistryUnavailable', 'image-pull'],
  ['SignatureValidationFailed', 'image-pull'],
  ['InvalidImageName', 'image-pull'],
  ['ErrImageNeverPull', 'image-pull'],
  ['ImageInspectError', 'image-pull'],
  ['CreateContainerConfigError', 'config-error'],
  ['CreateContainerError', 'crash-loop'],
  ['RunContainerError', 'crash-loop'],
  ['PreCreateHookError', 'crash-loop'],
  ['PreStartHookError', 'crash-loop'],
  ['PostStartHookError', 'crash-loop'],
  ['CrashLoopBackOff', 'crash-loop'],
  ['CreatePodSandboxError', 'sandbox'],
  ['ConfigPodSandboxError', 'sandbox'],
  ['KillPodSandboxError', 'sandbox'],
]);

/** Termination reasons of a container that ended by itself or could not be run. */
const endings = new Set([
  'Error',
  'Completed',
  'ContainerCannotRun',
  'StartError',
  'DeadlineExceeded',
]);

/** Reasons that say only that the kubelet is not there yet. */
export const notYet = new Set(['', 'ContainerCreating', 'PodInitializing']);

export type Reading =
  | { kind: 'fine' }
  | { kind: 'creating' }
  | { kind: 'fault'; finding: Finding }
  | { kind: 'unready'; finding: Finding };

/** A container of a pod, and how to speak of it. */
export interface Place {
  pod: Pod;
  status: ContainerStatus;
  /** `status.containerStatuses[0]`. */
  field: string;
  /** `container x`, `init container x`, `sidecar x`. */
  title: string;
}

/** An ordinary init container: done when it has ended with 0. */
export function readInit(place: Place, now: number, podGraceMs: number): Reading {
  const { status, field, pod, title } = place;
  if (status.state?.terminated?.exitCode === 0) return { kind: 'fine' };
  const running = status.state?.running;
  if (running === undefined) return readStopped(place);
  const restarted = readRestarted(place, now, podGraceMs);
  if (restarted !== undefined) return restarted;
  const startedAt = parseTime(running.startedAt);
  const since = startedAt === undefined ? '' : ` for ${ago(now - startedAt)}`;
  return {
    kind: 'unready',
    finding: {
      cause: 'not-ready',
      message: `${title} has been running${since} and does not end, so the pod does not start`,
      evidence: [
        podEvidence(pod, `${field}.state.running`, running.startedAt, `${title} ends with 0`),
      ],
    },
  };
}

/** A main container or a sidecar: fine when it runs and is ready. */
export function readRunning(place: Place, now: number, podGraceMs: number): Reading {
  const { status, field, pod, title } = place;
  if (status.state?.running === undefined) return readStopped(place);
  if (status.ready === true) return { kind: 'fine' };
  const restarted = readRestarted(place, now, podGraceMs);
  if (restarted !== undefined) return restarted;
  const starting = status.started === false;
  return {
    kind: 'unready',
    finding: {
      cause: 'not-ready',
      message: starting
        ? `${title} runs, but its startup probe has not succeeded`
        : `${title} runs, but its readiness probe fails`,
      evidence: [
        podEvidence(
          pod,
          `${field}.${starting ? 'started' : 'ready'}`,
          'false',
          `the ${starting ? 'startup' : 'readiness'} probe succeeds`,
        ),
      ],
    },
  };
}

/** Waiting or terminated; no state at all is waiting without a reason. */
function readStopped(place: Place): Reading {
  const { terminated } = place.status.state ?? {};
  if (terminated !== undefined) {
    return { kind: 'fault', finding: ended(place, 'state', causeOfEnding(terminated.reason)) };
  }
  const { reason = '' } = place.status.state?.waiting ?? {};
  // Made and not started: the moment between an end and the next start.
  const between = reason === '' && place.status.lastState?.terminated !== undefined;
  if (between && lastCause(place) !== 'unknown') {
    return { kind: 'fault', finding: ended(place, 'lastState', lastCause(place)) };
  }
  // Also after an earlier end: a sandbox made anew starts its containers from here.
  if (notYet.has(reason)) return { kind: 'creating' };
  const cause = causeOfWaiting.get(reason);
  if (reason === 'CrashLoopBackOff' && place.status.lastState?.terminated !== undefined) {
    return { kind: 'fault', finding: ended(place, 'lastState', crashCause(place)) };
  }
  return { kind: 'fault', finding: waitingFinding(place, reason, cause) };
}

/** Running again after an end, for less than the grace: not yet a different story. */
function readRestarted(place: Place, now: number, podGraceMs: number): Reading | undefined {
  const { status } = place;
  // An end that the kubelet cannot explain, as after a reboot, is no crash.
  if (status.lastState?.terminated === undefined || lastCause(place) === 'unknown')
    return undefined;
  const startedAt = parseTime(status.state?.running?.startedAt);
  if (startedAt !== undefined && now - startedAt >= podGraceMs) return undefined;
  return { kind: 'fault', finding: ended(place, 'lastState', lastCause(place)) };
}

function causeOfEnding(reason: string | undefined): Cause {
  if (reason === 'OOMKilled') return 'oom-killed';
  return reason === undefined || reason === '' || endings.has(reason) ? 'crash-loop' : 'unknown';
}

function lastCause({ status }: Place): Cause {
  return causeOfEnding(status.lastState?.terminated?.reason);
}

/** CrashLoopBackOff is a crash loop whatever the last end says, unless that was the OOM killer. */
function crashCause(place: Place): Cause {
  return lastCause(place) === 'oom-killed' ? 'oom-killed' : 'crash-loop';
}

function waitingFinding(place: Place, reason: string, cause: Cause | undefined): Finding {
  const { pod, field, title, status } = place;
  // The kubelet quotes the command line of a hook that failed, and what it wrote: neither is ours to
  // tell in mails and reports (pkg/kubelet/lifecycle/handlers.go).
  const isOfHook = reason === 'PostStartHookError';
  const said = isOfHook ? undefined : status.state?.waiting?.message || undefined;
  const message = `${title} waits: ${reason}${said === undefined ? '' : `: ${shorten(said)}`}`;
  const image =
    cause === 'image-pull' && status.image !== undefined ? ` (image ${status.image})` : '';
  return {
    cause: cause ?? 'unknown',
    message:
      cause === undefined ? `${message} (a reason that nodegap does not know)` : message + image,
    evidence: [
      podEvidence(pod, `${field}.state.waiting.reason`, reason, `${title} runs and is ready`),
    ],
    ...(cause === 'config-error' || reason === 'InvalidImageName' ? { hint: 'template' } : {}),
  };
}

function ended(place: Place, state: 'state' | 'lastState', cause: Cause): Finding {
  const { pod, status, field, title } = place;
  const last = status[state]?.terminated;
  const reason = last?.reason || 'no reason given';
  const restarts = status.restartCount ?? 0;
  const waiting = status.state?.waiting?.reason || undefined;
  return {
    cause,
    message: `${title} ended with exit code ${last?.exitCode ?? 'unknown'} (${reason}) after ${restarts} restart${restarts === 1 ? '' : 's'}`,
    evidence: [
      ...(waiting === undefined
        ? []
        : [podEvidence(pod, `${field}.state.waiting.reason`, waiting, `${title} stays up`)]),
      podEvidence(
        pod,
        `${field}.${state}.terminated.reason`,
        last?.reason,
        ...(waiting === undefined ? [`${title} stays up`] : []),
      ),
      podEvidence(pod, `${field}.${state}.terminated.exitCode`, last?.exitCode?.toString()),
      podEvidence(pod, `${field}.restartCount`, String(restarts)),
    ],
  };
}
