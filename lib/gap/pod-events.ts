/**
 * Causes that only events tell. A pod whose sandbox or volumes cannot be set up just stays
 * ContainerCreating, a container that cannot be made is for a moment waiting without a reason, and a
 * pod that the API refuses is not there at all.
 *
 * Gotchas: events live for an hour, are best effort and outlast what they report, so the newest one
 * counts, and none from before the sandbox changed. Mount failures come in pairs, a specific one and
 * a general time-out: the specific one counts.
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

/**
 * Until when a failed pod that was deleted explains that there is none: its successor is made within
 * seconds, and the failed one stays up to 15 minutes before (failedPodsBackoff).
 */
const REPLACED_MS = 5 * 60_000;

/** A probe runs every 10 seconds unless told otherwise: what failed longer ago is over. */
const PROBE_MS = 10 * 60_000;

/** What an event of a pod tells, by its reason. */
const causeOfReason: ReadonlyMap<string, Cause | 'by-message'> = new Map([
  ['FailedCreatePodSandBox', 'sandbox'],
  ['NetworkNotReady', 'sandbox'],
  // The kubelet has devices prepared between volumes and sandbox, and may tear an old one down.
  ['FailedPrepareDynamicResources', 'sandbox'],
  ['FailedKillPod', 'sandbox'],
  ['FailedMount', 'volume'],
  ['FailedAttachVolume', 'volume'],
  ['FailedMapVolume', 'volume'],
  ['InspectFailed', 'image-pull'],
  ['ErrImageNeverPull', 'image-pull'],
  ['Failed', 'by-message'],
  ['BackOff', 'by-message'],
]);

/** The kubelet has not been given an object: it may not be there, or the kubelet may not see it. */
const unknownToKubelet =
  /object "[^"]*"\/"[^"]+" not registered|failed to sync (secret|configmap) cache/i;
/** A mount failure, or a container's, that names an object or key which is not there. */
const missingInput = new RegExp(
  [
    String.raw`\b(secrets?|configmaps?|serviceaccounts?|persistentvolumeclaims?|clustertrustbundles?|secretproviderclass(es)?)(\.[a-z0-9.-]+)? "[^"]+" not found`,
    'references non-existent (secret|config) key',
    "couldn't find key .* in (Secret|ConfigMap)",
    // The Secrets Store CSI driver, and what its AWS provider passes on of Secrets Manager.
    'failed to get secretproviderclass',
    'ResourceNotFoundException',
    unknownToKubelet.source,
  ].join('|'),
  'i',
);
/** A sandbox that names what it is to be made with: a runtime of a RuntimeClass, a network of Multus. */
const missingSandboxInput =
  /no runtime for "[^"]+" is configured|network-attachment-definitions?\b.*\bnot found/i;
const generalTimeout = /unmounted volumes=\[/;
const aboutImage =
  /ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|Back-off pulling image|Failed to pull image/;
const badImageName = /InvalidImageName|couldn't parse image|invalid reference format/;
const badConfig = /runAsNonRoot/;

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

/**
 * What events say of a bound pod whose containers are still to be made, or whose sandbox is gone.
 * `FailedSync` is heard only when nothing else speaks: it says that something failed, not what.
 */
export function judgePodEvents(pod: Pod, events: EventIndex, now: number): Finding | undefined {
  const sandbox = conditionOf(pod.status.conditions, 'PodReadyToStartContainers');
  const changedAt = parseTime(sandbox?.lastTransitionTime);
  const own = newestFirst(events.get(pod.metadata.uid) ?? [], now);
  // What came before the sandbox stood, or before it went, is history.
  const isHistory = (event: KubernetesEvent): boolean =>
    sandbox?.status === 'True'
      ? timeOf(event, now) <= (changedAt ?? now)
      : timeOf(event, now) < (changedAt ?? Number.NEGATIVE_INFINITY);
  const telling = own.filter((event) => causeOfReason.has(event.reason ?? '') && !isHistory(event));
  const [newest] = telling;
  if (newest === undefined) {
    const sync = own.find((event) => event.reason === 'FailedSync' && !isHistory(event));
    return sync === undefined ? undefined : findingOf(sync, sync, now);
  }
  const specific =
    telling.find(
      (event) => event.reason === newest.reason && !generalTimeout.test(event.message ?? ''),
    ) ?? newest;
  return findingOf(newest, specific, now);
}

/** The finding of an event, in the words of the most specific one of its reason. */
function findingOf(newest: KubernetesEvent, specific: KubernetesEvent, now: number): Finding {
  const text = specific.message ?? '';
  const said = shorten(text === '' ? 'no message' : text);
  const when = `${specific.reason ?? 'an event'} ${ago(now - timeOf(newest, now))} ago`;
  const cause = causeOfEvent(newest.reason ?? '', text);
  const evidence = [evidenceOf(specific, 'the kubelet gets past this step')];
  if (cause === 'config-error') {
    const absent = unknownToKubelet.test(text)
      ? 'is not there or that the kubelet does not get to know'
      : 'is not there';
    const message = missingInput.test(text)
      ? `a volume or container of the pod names something that ${absent}: ${said}`
      : `a container of the pod cannot be configured: ${said}`;
    return { cause, message, evidence, hint: 'template' };
  }
  return {
    cause,
    message: `${when}: ${said}`,
    evidence,
    ...(isOfTemplate(cause, text) ? { hint: 'template' } : {}),
  };
}

/** Whether the template, or what it names, brings about a cause that otherwise may be the node's. */
function isOfTemplate(cause: Cause, message: string): boolean {
  if (cause === 'image-pull') return badImageName.test(message);
  return cause === 'sandbox' && missingSandboxInput.test(message);
}

function causeOfEvent(reason: string, message: string): Cause {
  const cause = causeOfReason.get(reason);
  if (cause === 'volume') return missingInput.test(message) ? 'config-error' : 'volume';
  if (cause === undefined) return /sandbox/i.test(message) ? 'sandbox' : 'unknown';
  if (cause !== 'by-message') return cause;
  if (aboutImage.test(message)) return 'image-pull';
  return missingInput.test(message) || badConfig.test(message) ? 'config-error' : 'crash-loop';
}

/** The newest event of one of those reasons about an object, not older than `within` ms. */
export function newestEvent(
  uid: string,
  events: EventIndex | undefined,
  reason: string,
  within: number,
  now: number,
): KubernetesEvent | undefined {
  return newestFirst(events?.get(uid) ?? [], now).find(
    (event) => event.reason === reason && now - timeOf(event, now) <= within,
  );
}

/** What the kubelet last said of a probe that fails. */
export function probeEvidence(pod: Pod, events: EventIndex | undefined, now: number): Evidence[] {
  const event = newestEvent(pod.metadata.uid, events, 'Unhealthy', PROBE_MS, now);
  return event === undefined ? [] : [evidenceOf(event, 'the probe succeeds')];
}

/** Why the kubelet does not get a pod to end. */
export function killEvidence(pod: Pod, events: EventIndex | undefined, now: number): Evidence[] {
  const event = newestEvent(pod.metadata.uid, events, 'FailedKillPod', CREATE_RETRY_MS, now);
  return event === undefined ? [] : [evidenceOf(event, 'the kubelet ends the pod')];
}

/**
 * That the controller deleted a failed pod of the node and is about to make another. Such a pod was
 * thrown out or refused by the kubelet: a pod of a DaemonSet does not fail by itself.
 */
export function judgeReplaced(
  daemonSet: DaemonSet,
  node: string,
  events: EventIndex,
  now: number,
): Finding | undefined {
  const deleted = newestFirst(events.get(daemonSet.metadata.uid) ?? [], now).find(
    ({ reason, message = '' }) =>
      reason === 'FailedDaemonPod' && /\bon node (\S+?),/.exec(message)?.[1] === node,
  );
  if (deleted === undefined || now - timeOf(deleted, now) > REPLACED_MS) return undefined;
  return {
    cause: 'evicted',
    message: `the kubelet ended or refused the last pod, and the controller deleted it ${ago(now - timeOf(deleted, now))} ago: ${shorten(deleted.message ?? '')}`,
    evidence: [evidenceOf(deleted, 'the controller makes another pod and it gets Ready')],
    hint: 'refused',
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
  const newest = newestEvent(daemonSet.metadata.uid, events, 'FailedCreate', CREATE_RETRY_MS, now);
  if (newest === undefined || timeOf(newest, now) < newestPod) return undefined;
  return {
    cause: 'create-blocked',
    message: `the API server refuses the pod: ${shorten(newest.message ?? 'no message')}`,
    evidence: [evidenceOf(newest, 'the API server accepts the pod')],
    hint: 'template',
  };
}

function newestFirst(events: readonly KubernetesEvent[], now: number): KubernetesEvent[] {
  return [...events].sort((a, b) => timeOf(b, now) - timeOf(a, now));
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
    value: shorten(event.message ?? '') || 'no message',
    wouldChange,
  };
}
