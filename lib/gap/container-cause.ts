/**
 * What the kubelet says of a bound pod's containers.
 *
 * Gotchas: an ordinary init container that has not succeeded holds up everything after it, while
 * the main containers only say PodInitializing. A sidecar is an init container with restartPolicy
 * Always. `waiting.reason` swings between ErrImagePull and ImagePullBackOff, and between a bare
 * `terminated` and CrashLoopBackOff, so either form is the same cause. A container seen running for
 * a moment between two crashes has not recovered.
 */
import { parseTime } from '../clock.ts';
import type { ContainerStatus, Pod } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Cause } from './model.ts';
import { ago, shorten } from './words.ts';

export interface ContainerVerdict {
  /** Containers that fail, in the order in which a cure would help. */
  faults: Finding[];
  /** Containers that run without being ready, as one finding `not-ready`. */
  unready: Finding | undefined;
  /** Nothing has failed yet and a container is still to be made (or the kubelet said nothing). */
  creating: boolean;
}

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
const notYet = new Set(['', 'ContainerCreating', 'PodInitializing']);

type Reading =
  | { kind: 'fine' }
  | { kind: 'creating' }
  | { kind: 'fault'; finding: Finding }
  | { kind: 'unready'; finding: Finding };

interface Place {
  pod: Pod;
  status: ContainerStatus;
  /** `status.containerStatuses[0]`. */
  field: string;
  /** `container x`, `init container x`, `sidecar x`. */
  title: string;
}

/** Judges the containers of a pod at `now`; `podGraceMs` is how long a restart may take effect. */
export function judgeContainers(pod: Pod, now: number, podGraceMs: number): ContainerVerdict {
  const readings = readInitContainers(pod, now, podGraceMs);
  const heldUp = readings.some(({ kind, blocks }) => blocks && kind !== 'fine');
  const statuses = pod.status.containerStatuses ?? [];
  if (!heldUp) {
    statuses.forEach((status, index) => {
      const place: Place = {
        pod,
        status,
        field: `status.containerStatuses[${index}]`,
        title: `container ${status.name}`,
      };
      readings.push({ ...readRunning(place, now, podGraceMs), blocks: false });
    });
  }
  const faults = readings.flatMap((reading) => (reading.kind === 'fault' ? [reading.finding] : []));
  const unready = readings.flatMap((reading) =>
    reading.kind === 'unready' ? [reading.finding] : [],
  );
  return {
    faults: [
      ...faults.filter(({ cause }) => cause !== 'unknown'),
      ...faults.filter(({ cause }) => cause === 'unknown'),
    ],
    unready: merged(unready),
    creating:
      readings.some(({ kind }) => kind === 'creating') ||
      (!heldUp && statuses.length === 0 && pod.status.phase !== 'Running'),
  };
}

/** Up to and including the first that holds up the rest. */
function readInitContainers(
  pod: Pod,
  now: number,
  podGraceMs: number,
): (Reading & { blocks: boolean })[] {
  const readings: (Reading & { blocks: boolean })[] = [];
  const sidecars = new Set(
    (pod.spec.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === 'Always')
      .map(({ name }) => name),
  );
  for (const [index, status] of (pod.status.initContainerStatuses ?? []).entries()) {
    const sidecar = sidecars.has(status.name);
    const place: Place = {
      pod,
      status,
      field: `status.initContainerStatuses[${index}]`,
      title: `${sidecar ? 'sidecar' : 'init container'} ${status.name}`,
    };
    const reading = sidecar
      ? readRunning(place, now, podGraceMs)
      : readInit(place, now, podGraceMs);
    // A sidecar that has started lets the rest begin, ready or not.
    const blocks = !(sidecar && status.started === true);
    readings.push({ ...reading, blocks });
    if (blocks && reading.kind !== 'fine') break;
  }
  return readings;
}

/** An ordinary init container: done when it has ended with 0. */
function readInit(place: Place, now: number, podGraceMs: number): Reading {
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
function readRunning(place: Place, now: number, podGraceMs: number): Reading {
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
  return reason === undefined || endings.has(reason) ? 'crash-loop' : 'unknown';
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
  const said = status.state?.waiting?.message;
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
  const reason = last?.reason ?? 'no reason given';
  const restarts = status.restartCount ?? 0;
  const waiting = status.state?.waiting?.reason;
  return {
    cause,
    message: `${title} ended with exit code ${last?.exitCode ?? 'unknown'} (${reason}) after ${restarts} restart${restarts === 1 ? '' : 's'}`,
    evidence: [
      ...(waiting === undefined
        ? []
        : [podEvidence(pod, `${field}.state.waiting.reason`, waiting, `${title} stays up`)]),
      podEvidence(pod, `${field}.${state}.terminated.reason`, last?.reason),
      podEvidence(pod, `${field}.${state}.terminated.exitCode`, last?.exitCode?.toString()),
      podEvidence(pod, `${field}.restartCount`, String(restarts)),
    ],
  };
}

function merged(findings: Finding[]): Finding | undefined {
  const [first] = findings;
  if (first === undefined) return undefined;
  return {
    ...first,
    message: findings.map(({ message }) => message).join('; '),
    evidence: findings.flatMap(({ evidence }) => evidence),
  };
}
