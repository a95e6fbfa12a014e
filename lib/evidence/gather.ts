/** Reads what is kept of a node, and puts the document together. */
import { type Clock, isoTime } from '../clock.ts';
import { KubernetesError } from '../errors.ts';
import { faultWithCause, isConditionFault, subjectOf } from '../gap/fault.ts';
import type { Evidence as Fact, Fault } from '../gap/model.ts';
import { count } from '../gap/words.ts';
import { eachOf } from '../kubernetes/each-of.ts';
import type { KubernetesEvent } from '../kubernetes/objects.ts';
import type { ClusterReader } from '../ports.ts';
import type { Judgement } from '../remediation/judge.ts';
import type { Situation } from '../remediation/situation.ts';
import type { WorkflowState } from '../remediation/workflow-state.ts';
import { bounded } from './bound.ts';
import {
  type Evidence,
  type EvidenceFault,
  type EvidencePhase,
  evidenceVersion,
} from './document.ts';
import { redactedEvent, redactedNode, redactedNodeClaim, redactedPod } from './redact.ts';

type EvidenceReader = Pick<
  ClusterReader,
  'whole' | 'getNode' | 'listPodsOnNode' | 'getNodeClaim' | 'listEventsOf'
>;

/** Who is about to act, and on what. */
export interface EvidenceOccasion {
  state: WorkflowState;
  execution: string;
  phase: EvidencePhase;
  installation: string;
  /** Of the code of nodegap. */
  version: string;
  clock: Clock;
}

/** What a situation tells that is kept: the judgement that is acted on. */
export type EvidenceSituation = Pick<Situation, 'loaded' | 'mark' | 'claim'> & {
  judgement: Extract<Judgement, { kind: 'act' }>;
};

/** DaemonSet pods whose Events are read; a node has about ten. */
const mostPodsWithEvents = 40;
/**
 * After that long no more of them are asked for: the API server has no index of Events by object, so
 * each list goes through all of them, and the drain has to fit into the same invocation.
 */
const longestEventsMs = 10_000;

/**
 * Reads node, pods, claim and Events, and makes the document of them.
 * @throws KubernetesError when one of the reads fails, or the node is not there any more.
 */
export async function gatherEvidence(
  reader: EvidenceReader,
  situation: EvidenceSituation,
  occasion: EvidenceOccasion,
): Promise<Evidence> {
  const { state, phase, clock } = occasion;
  const now = clock.now();
  const whole = reader.whole ?? (reader as unknown as NonNullable<ClusterReader['whole']>);
  const node = await whole.getNode(state.node);
  if (node === undefined || uidOf(node) !== state.nodeUid) {
    throw new KubernetesError('not-found', `node ${state.node} is not there any more`);
  }
  const pods = await whole.listPodsOnNode(state.node);
  const { claim, mark, loaded, judgement } = situation;
  const nodeClaim =
    claim.kind === 'found' ? await whole.getNodeClaim(claim.claim.metadata.name) : undefined;

  const daemonPods = pods.filter(isOfDaemonSet).map(uidOf);
  const faulty = judgement.gaps.flatMap((gap) => (isConditionFault(gap) ? [] : [gap]));
  // Those that the attempt is about come first, and with them what their DaemonSets could not make.
  const first = faulty.flatMap(({ pod }) => (pod === undefined ? [] : [pod.uid]));
  const asked = [...new Set([...first, ...daemonPods])];
  const { events, unread } = await eventsOf(reader, clock, [
    state.nodeUid,
    // The kubelet names the node in the place of its uid.
    state.node,
    ...faulty.map(({ daemonSetUid }) => daemonSetUid),
    ...asked.slice(0, mostPodsWithEvents),
  ]);
  const unasked = asked.length - mostPodsWithEvents;

  return bounded({
    schemaVersion: evidenceVersion,
    cluster: state.cluster,
    node: state.node,
    nodeUid: state.nodeUid,
    episode: state.episode,
    attempt: state.attempt,
    phase,
    at: isoTime(now),
    execution: occasion.execution,
    installation: occasion.installation,
    configSha256: loaded.sha256,
    nodegap: occasion.version,
    judgement: {
      message: `${faultWithCause(judgement.primary)}: ${judgement.primary.message}`,
      faults: judgement.gaps.map(faultOf),
    },
    ...(mark.kind === 'ours' ? { isolation: mark.mark } : {}),
    objects: {
      node: redactedNode(node),
      pods: pods.map(redactedPod),
      ...(nodeClaim === undefined ? {} : { nodeClaim: redactedNodeClaim(nodeClaim) }),
    },
    events,
    cut: [
      ...(unasked > 0 ? [`the Events of ${count(unasked, 'DaemonSet pod')}`] : []),
      ...(unread > 0
        ? [
            `the Events of ${count(unread, 'object')}, because listing them took more than ${longestEventsMs / 1000} s`,
          ]
        : []),
    ],
  });
}

/** `unread`: how many of `uids` there was no time for, the last of them. */
async function eventsOf(
  reader: Pick<ClusterReader, 'listEventsOf'>,
  clock: Clock,
  uids: string[],
): Promise<{ events: Record<string, unknown>[]; unread: number }> {
  const found = new Map<string, KubernetesEvent>();
  const until = clock.now() + longestEventsMs;
  let unread = 0;
  await eachOf(uids, async (uid) => {
    if (clock.now() >= until) {
      unread += 1;
      return;
    }
    for (const event of await reader.listEventsOf(uid)) found.set(event.metadata.uid, event);
  });
  const events = [...found.values()]
    .toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)))
    .map(({ metadata, ...event }) => redactedEvent({ name: metadata.name, ...event }));
  return { events, unread };
}

/** API times have one form, so that their order is that of their text. */
function timeOf({ lastTimestamp, eventTime, firstTimestamp, metadata }: KubernetesEvent): string {
  return lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp ?? '';
}

function faultOf(fault: Fault): EvidenceFault {
  const { cause, message, blame, blameReason, since } = fault;
  const pod = isConditionFault(fault) ? undefined : fault.pod;
  return {
    subject: subjectOf(fault),
    cause,
    message,
    blame,
    blameReason,
    since: isoTime(since),
    ...(pod === undefined ? {} : { pod: `${pod.namespace}/${pod.name}` }),
    evidence: fault.evidence.map(factOf),
    blameEvidence: fault.blameEvidence.map(factOf),
  };
}

function factOf({ object, field, value, wouldChange = '' }: Fact): EvidenceFault['evidence'][0] {
  return { object, field, value, wouldChange };
}

function isOfDaemonSet({ metadata }: Record<string, unknown>): boolean {
  const { ownerReferences } = metadata as { ownerReferences?: { kind?: string }[] };
  return ownerReferences?.some(({ kind }) => kind === 'DaemonSet') === true;
}

function uidOf({ metadata }: Record<string, unknown>): string {
  return String((metadata as { uid?: string }).uid);
}
