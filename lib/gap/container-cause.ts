/**
 * Which of a bound pod's containers keeps it from being Ready.
 *
 * Gotchas: an ordinary init container that has not succeeded holds up everything after it, while
 * the main containers only say PodInitializing, or still show how they ended in the sandbox before.
 * A sidecar is an init container with restartPolicy Always; it holds up the rest until it has started
 * once, and not when it is restarted later.
 */
import type { ContainerStatus, Pod } from '../kubernetes/objects.ts';
import { notYet, type Place, type Reading, readInit, readRunning } from './container-reading.ts';
import type { Finding } from './finding.ts';
import type { Cause } from './model.ts';

export interface ContainerVerdict {
  /** Containers that fail, in the order in which a cure would help. */
  faults: Finding[];
  /** Containers that run without being ready, as one finding `not-ready`. */
  unready: Finding | undefined;
  /** Nothing has failed yet and a container is still to be made (or the kubelet said nothing). */
  creating: boolean;
}

/**
 * Which of several containers' faults comes first. A pod without a sandbox runs nothing; what the
 * template asks for wrongly is wrong on any node; and an image comes before the process in it.
 */
const order: readonly Cause[] = [
  'sandbox',
  'config-error',
  'image-pull',
  'oom-killed',
  'crash-loop',
  'unknown',
];

/** Judges the containers of a pod at `now`; `podGraceMs` is how long a restart may take effect. */
export function judgeContainers(pod: Pod, now: number, podGraceMs: number): ContainerVerdict {
  const { readings, heldUp } = readInitContainers(pod, now, podGraceMs);
  const statuses = pod.status.containerStatuses ?? [];
  const main: Reading[] = heldUp
    ? []
    : statuses.map((status, index) =>
        readRunning(
          {
            pod,
            status,
            field: `status.containerStatuses[${index}]`,
            title: `container ${status.name}`,
          },
          now,
          podGraceMs,
        ),
      );
  const all = [...readings, ...main];
  return {
    // Init containers and sidecars first: what they hold up cannot be cured before them.
    faults: [...faultsOf(readings), ...faultsOf(main)].sort(unknownLast),
    unready: merged(
      all.flatMap((reading) => (reading.kind === 'unready' ? [reading.finding] : [])),
    ),
    creating:
      all.some(({ kind }) => kind === 'creating') ||
      (!heldUp && statuses.length === 0 && pod.status.phase !== 'Running'),
  };
}

function faultsOf(readings: readonly Reading[]): Finding[] {
  return readings
    .flatMap((reading) => (reading.kind === 'fault' ? [reading.finding] : []))
    .sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ cause, hint }: Finding): number {
  return order.indexOf(hint === 'template' ? 'config-error' : cause);
}

function unknownLast(a: Finding, b: Finding): number {
  return Number(a.cause === 'unknown') - Number(b.cause === 'unknown');
}

/** Up to and including the first that holds up the rest. */
function readInitContainers(
  pod: Pod,
  now: number,
  podGraceMs: number,
): { readings: Reading[]; heldUp: boolean } {
  const readings: Reading[] = [];
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
    readings.push(reading);
    const letsOthersStart = reading.kind === 'fine' || (sidecar && hasStarted(pod, status));
    if (!letsOthersStart) return { readings, heldUp: true };
  }
  return { readings, heldUp: false };
}

/**
 * Whether a sidecar has let the rest begin, ready or not. One that is being restarted has done so
 * when a main container has begun.
 */
function hasStarted(pod: Pod, status: ContainerStatus): boolean {
  if (status.started === true) return true;
  return (pod.status.containerStatuses ?? []).some(
    ({ state }) =>
      state?.running !== undefined ||
      (state?.waiting !== undefined && !notYet.has(state.waiting.reason ?? '')),
  );
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
