/**
 * Causes that only events tell. A pod whose sandbox or volumes cannot be set up just stays
 * ContainerCreating, and a pod that the API refuses is not there at all.
 *
 * Gotcha: events live for an hour, are best effort and outlast what they report, so the newest one
 * counts. Mount failures come in pairs, a specific one and a general time-out: the specific one
 * counts.
 */
import { parseTime } from '../clock.ts';
import {
  conditionOf,
  type DaemonSet,
  type KubernetesEvent,
  type Pod,
} from '../kubernetes/objects.ts';
import type { Finding } from './finding.ts';
import type { Cause, Evidence } from './model.ts';
import { ago, shorten } from './words.ts';

/** Events by the uid of the object that they are about. */
export type EventIndex = ReadonlyMap<string, readonly KubernetesEvent[]>;

/** A DaemonSet that cannot create a pod tries again at least this often (work queue back-off). */
const CREATE_RETRY_MS = 20 * 60_000;

const causeOfReason: ReadonlyMap<string, Cause> = new Map([
  ['FailedCreatePodSandBox', 'sandbox'],
  ['NetworkNotReady', 'sandbox'],
  ['FailedMount', 'volume'],
  ['FailedAttachVolume', 'volume'],
  ['FailedMapVolume', 'volume'],
  ['InspectFailed', 'image-pull'],
  ['ErrImageNeverPull', 'image-pull'],
]);

/** A mount failure that names an object which is not there. */
const missingInput =
  /\b(secrets?|configmaps?) "[^"]+" not found|references non-existent (secret|config) key/i;
const generalTimeout = /unmounted volumes=\[/;

export function indexEvents(events: readonly KubernetesEvent[]): EventIndex {
  const index = new Map<string, KubernetesEvent[]>();
  for (const event of events) {
    const { uid } = event.involvedObject;
    if (uid === undefined) continue;
    const list = index.get(uid);
    if (list === undefined) index.set(uid, [event]);
    else list.push(event);
  }
  return index;
}

/** What events say of a bound pod whose containers are still to be made. */
export function judgePodEvents(pod: Pod, events: EventIndex, now: number): Finding | undefined {
  // Sandbox and volumes are behind a pod whose sandbox stands; earlier events are history.
  const sandbox = conditionOf(pod.status.conditions, 'PodReadyToStartContainers');
  const sandboxUpSince =
    sandbox?.status === 'True' ? (parseTime(sandbox.lastTransitionTime) ?? now) : undefined;
  const telling = (events.get(pod.metadata.uid) ?? [])
    .filter((event) => causeOfReason.has(event.reason ?? ''))
    .filter((event) => sandboxUpSince === undefined || timeOf(event, now) > sandboxUpSince)
    .sort((a, b) => timeOf(b, now) - timeOf(a, now));
  const newest = telling[0];
  if (newest === undefined) return undefined;
  const specific =
    telling.find(
      (event) => event.reason === newest.reason && !generalTimeout.test(event.message ?? ''),
    ) ?? newest;
  const cause = causeOfReason.get(newest.reason ?? '') ?? 'unknown';
  const said = shorten(specific.message ?? 'no message');
  if (cause === 'volume' && missingInput.test(specific.message ?? '')) {
    return {
      cause: 'config-error',
      message: `a volume of the pod names something that is not there: ${said}`,
      evidence: [evidenceOf(specific, 'the object that the volume names exists')],
      hint: 'template',
    };
  }
  return {
    cause,
    message: `${specific.reason} ${ago(now - timeOf(newest, now))} ago: ${said}`,
    evidence: [evidenceOf(specific, 'the kubelet gets past this step')],
  };
}

/**
 * That the API refuses the pods of a DaemonSet. `newestPod` is when its newest pod was created
 * (epoch ms): a refusal before that is over.
 */
export function judgeCreation(
  daemonSet: DaemonSet,
  events: EventIndex,
  newestPod: number,
  now: number,
): Finding | undefined {
  const refusals = (events.get(daemonSet.metadata.uid) ?? [])
    .filter(({ reason }) => reason === 'FailedCreate')
    .sort((a, b) => timeOf(b, now) - timeOf(a, now));
  const newest = refusals[0];
  if (newest === undefined) return undefined;
  const at = timeOf(newest, now);
  if (at < newestPod || now - at > CREATE_RETRY_MS) return undefined;
  return {
    cause: 'create-blocked',
    message: `the API server refuses the pod: ${shorten(newest.message ?? 'no message')}`,
    evidence: [evidenceOf(newest, 'the API server accepts the pod')],
    hint: 'template',
  };
}

/** When an event was last seen, epoch ms; one without any time is taken as fresh. */
function timeOf(event: KubernetesEvent, now: number): number {
  return (
    parseTime(event.lastTimestamp) ??
    parseTime(event.eventTime) ??
    parseTime(event.firstTimestamp) ??
    parseTime(event.metadata.creationTimestamp) ??
    now
  );
}

function evidenceOf(event: KubernetesEvent, wouldChange: string): Evidence {
  const { kind = 'object', namespace, name = '' } = event.involvedObject;
  return {
    object: `event on ${kind.toLowerCase()} ${namespace === undefined ? name : `${namespace}/${name}`}`,
    field: event.reason ?? 'reason',
    value: shorten(event.message ?? ''),
    wouldChange,
  };
}
