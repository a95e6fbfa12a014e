/**
 * Why a pair has no Ready pod.
 *
 * Precedence (docs/causes.md): node-not-ready, then what kubelet, scheduler or containers say, then
 * events, then rollout, starting (without any pod: missing), terminating, and last what only stands
 * out once the grace is over: not-ready, or unknown. What is found besides becomes a further cause.
 */
import {
  conditionOf,
  type DaemonSet,
  type Node,
  type Pod,
  type Toleration,
} from '../kubernetes/objects.ts';
import { type ContainerVerdict, judgeContainers } from './container-cause.ts';
import type { LookedPastTaint } from './eligibility.ts';
import { disruptionOf, judgeFinished, withPressure } from './failed-pod.ts';
import type { Finding } from './finding.ts';
import type { DetectionPolicy } from './model.ts';
import { blockedByCondition, nodeNotReady, taintFindings } from './node-findings.ts';
import type { NodeHealth } from './node-health.ts';
import {
  type EventIndex,
  judgeCreation,
  judgePodEvents,
  judgeReplaced,
  killEvidence,
  probeEvidence,
} from './pod-events.ts';
import { notCreated, readyInAllButName, starting, terminating } from './pod-findings.ts';
import { isFinished, type Readiness } from './readiness.ts';
import type { Rollout } from './rollout.ts';
import { rolloutFinding } from './rollout-finding.ts';
import { withRoom } from './room.ts';
import type { GapTimes } from './timing.ts';
import { isTolerated, keepsPodsOut } from './tolerations.ts';
import { judgeUnscheduled } from './unscheduled-pod.ts';

/** A pair without a Ready pod that can be believed, and what its cause may rest on. */
export interface OpenPair {
  node: Node;
  health: NodeHealth;
  daemonSet: DaemonSet;
  tolerations: readonly Toleration[];
  readiness: Readiness;
  /** Taints that intent looked past and that keep a new pod out. */
  blockedBy: readonly LookedPastTaint[];
  times: GapTimes;
  rollout: Rollout;
  /** Nodes of this DaemonSet without a Ready pod and within their grace. */
  youngPairs: number;
  /** When the newest pod of the DaemonSet was created, epoch ms. */
  newestPod: number;
  /** Undefined when events could not be read. */
  events: EventIndex | undefined;
}

export interface CauseVerdict {
  primary: Finding;
  others: Finding[];
  /** Events could have told more and were not there to ask. */
  eventsMissed: boolean;
}

/** What pod, API and scheduler say, and what is left to say when they are silent. */
interface Testimony {
  told: Finding[];
  /** Found beside a silence that is itself the verdict. */
  alongside?: Finding[];
  fallback?: Finding;
  eventsMissed?: boolean;
}

/** Decides the cause of an open pair at `now` (epoch ms). */
export function causeOf(pair: OpenPair, policy: DetectionPolicy, now: number): CauseVerdict {
  const { health, readiness } = pair;
  const { told, alongside = [], fallback, eventsMissed = false } = testimonyOf(pair, policy, now);
  const found = health.kind === 'not-ready' ? [nodeNotReady(pair.node, health), ...told] : told;
  const [first, ...rest] = found;
  const primary = first ?? silentCause(pair, fallback, now);
  const others = [
    ...rest,
    ...alongside,
    ...(readiness.kind === 'absent' ? [] : taintFindings(pair.node, pair.blockedBy)),
  ];
  return { primary, others, eventsMissed: eventsMissed && first === undefined };
}

function silentCause(pair: OpenPair, fallback: Finding | undefined, now: number): Finding {
  const { readiness, times } = pair;
  const rollout = rolloutFinding(pair);
  if (rollout !== undefined) return rollout;
  if (readiness.kind === 'absent') return missing(pair);
  if (readiness.kind === 'terminating') {
    return terminating(readiness.pod, killEvidence(readiness.pod, pair.events, now), now);
  }
  if (times.podYoung || times.nodeYoung) {
    return starting(readiness.pod, fallback, times.podYoung ? 'pod' : 'node');
  }
  return fallback ?? readyInAllButName(readiness.pod);
}

function testimonyOf(pair: OpenPair, policy: DetectionPolicy, now: number): Testimony {
  const { readiness } = pair;
  switch (readiness.kind) {
    case 'absent':
      return testimonyOfAbsence(pair, now);
    case 'terminating': {
      const disruption = disruptionOf(readiness.pod);
      return { told: disruption === undefined ? [] : [disruption] };
    }
    case 'unready':
      return testimonyOfPod(pair, readiness.pod, policy, now);
    default:
      // Ready by its own word, on a node that cannot be believed.
      return { told: [] };
  }
}

function testimonyOfAbsence(pair: OpenPair, now: number): Testimony {
  const { daemonSet, events, newestPod, times } = pair;
  const refused =
    events === undefined
      ? undefined
      : (judgeCreation(daemonSet, events, newestPod, now) ??
        judgeReplaced(daemonSet, pair.node.metadata.name, events, now));
  return {
    told: [
      ...keptOutByCondition(pair),
      ...taintFindings(pair.node, pair.blockedBy),
      ...(refused === undefined ? [] : [refused]),
    ],
    eventsMissed: events === undefined && times.pastGrace,
  };
}

/** A node that is Ready and keeps pods out by the taint of another condition. */
function keptOutByCondition({ node, health, blockedBy }: OpenPair): Finding[] {
  const condition = blockedBy.filter(({ kind }) => kind === 'condition');
  if (condition.length === 0 || health.kind === 'not-ready') return [];
  return [blockedByCondition(node, condition)];
}

function testimonyOfPod(pair: OpenPair, pod: Pod, policy: DetectionPolicy, now: number): Testimony {
  const ended = isFinished(pod) ? judgeFinished(pod) : disruptionOf(pod);
  if (ended !== undefined) {
    return { told: [withRoom(withPressure(ended, pair.node), pod, pair.node)] };
  }
  // A bound pod may keep an old PodScheduled=False: the binding wins.
  if (pod.spec.nodeName === undefined || pod.spec.nodeName === '') {
    const tolerations = pod.spec.tolerations ?? pair.tolerations;
    const untolerated = (pair.node.spec.taints ?? []).filter(
      (taint) => keepsPodsOut(taint) && !isTolerated(tolerations, taint),
    );
    const verdict = judgeUnscheduled(pod, untolerated);
    if (verdict.kind !== 'findings') {
      return { told: [], fallback: verdict.finding, alongside: verdict.alongside };
    }
    const findings = verdict.findings.map((finding) => withRoom(finding, pod, pair.node));
    // A taint that mirrors a condition is the condition's doing, whether a pod waits or none is made.
    const tainted = findings[0]?.cause === 'untolerated-taint';
    return { told: [...(tainted ? keptOutByCondition(pair) : []), ...findings] };
  }
  return testimonyOfContainers(pair, pod, judgeContainers(pod, now, policy.podGraceMs), now);
}

function testimonyOfContainers(
  pair: OpenPair,
  pod: Pod,
  { faults, unready, creating }: ContainerVerdict,
  now: number,
): Testimony {
  const withProbe = (finding: Finding): Finding => ({
    ...finding,
    evidence: [...finding.evidence, ...probeEvidence(pod, pair.events, now)],
  });
  // What containers say from before their sandbox went away does not say why there is none now.
  const sandboxGone =
    conditionOf(pod.status.conditions, 'PodReadyToStartContainers')?.status === 'False';
  const event =
    pair.events !== undefined && (creating || sandboxGone)
      ? judgePodEvents(pod, pair.events, now)
      : undefined;
  const telling = event !== undefined && event.cause !== 'unknown';
  const setUp = telling && (faults.length === 0 || sandboxGone) ? [event] : [];
  const unreadyNow = unready === undefined ? [] : [withProbe(unready)];
  const [first, ...rest] = faults;
  if (first !== undefined) {
    const young = pair.times.podYoung || pair.times.nodeYoung;
    return {
      told: [...setUp, withProbe(first), ...rest],
      // Running without being ready is a fault only once the grace is over.
      alongside: young ? [] : unreadyNow,
    };
  }
  return {
    told: setUp,
    fallback: unreadyNow[0] ?? event ?? (creating ? notCreated(pod) : readyInAllButName(pod)),
    eventsMissed: creating && pair.events === undefined && pair.times.pastGrace,
  };
}

function missing({ node, daemonSet }: OpenPair): Finding {
  const { namespace, name, uid } = daemonSet.metadata;
  return {
    cause: 'missing',
    message: `no pod of ${namespace}/${name} is there for node ${node.metadata.name}`,
    evidence: [
      {
        object: `daemonset ${namespace}/${name}`,
        field: 'pods owned by uid',
        value: `none for node ${node.metadata.name} (uid ${uid})`,
        wouldChange: 'the DaemonSet controller creates a pod for the node',
      },
    ],
  };
}
