/** What each verdict on a pair rests on: the object, the field, its value, and what would change it. */
import { isoTime, parseTime } from '../clock.ts';
import type { Evidence, Gap, PairState } from '../gap/model.ts';
import { readyChangedAt } from '../gap/readiness.ts';
import { fieldText } from '../gap/words.ts';
import { conditionOf, type DaemonSet, keyOf, type Node, type Pod } from '../kubernetes/objects.ts';
import type { ShouldRun } from './should-run.ts';

/** What is judged: a pair and what is known of both sides. */
export interface JudgedPair {
  node: Node;
  daemonSet: DaemonSet;
  state: PairState;
  shouldRun: ShouldRun;
  /** That of the node, when it is left out. */
  leftOut: readonly Evidence[] | undefined;
}

/** The evidence of any verdict. Never empty. */
export function evidenceOf({ node, daemonSet, state, shouldRun, leftOut }: JudgedPair): Evidence[] {
  switch (state.kind) {
    case 'ok':
      return readyEvidence(state.pod);
    case 'covered':
      return [coveredEvidence(node, daemonSet)];
    case 'settling':
      return settlingEvidence(state.pod, daemonSet);
    case 'deferred':
      return state.evidence;
    case 'gap':
      return gapEvidence(state.gap);
    case 'not-eligible': {
      if (leftOut !== undefined) return [...leftOut];
      const { deletionTimestamp } = daemonSet.metadata;
      return deletionTimestamp === undefined
        ? shouldRun.evidence
        : [
            {
              object: `daemonset ${keyOf(daemonSet)}`,
              field: 'metadata.deletionTimestamp',
              value: deletionTimestamp,
              wouldChange: 'a DaemonSet is made anew under its name',
            },
          ];
    }
  }
}

/** The evidence of a gap. Where its cause names nothing that would change it, its mere end does. */
export function gapEvidence(gap: Gap): Evidence[] {
  if (gap.evidence.some(({ wouldChange }) => wouldChange !== undefined)) return gap.evidence;
  const { pod } = gap;
  const end: Evidence =
    pod === undefined
      ? {
          object: `daemonset ${gap.daemonSet}`,
          field: `pods on node ${gap.node}`,
          value: 'none',
          wouldChange: 'one becomes Running and Ready there',
        }
      : {
          object: `pod ${pod.namespace}/${pod.name}`,
          field: 'status.conditions[Ready].status',
          value: 'not True',
          wouldChange: 'it becomes True, or another pod of the DaemonSet is Ready there',
        };
  return [...gap.evidence, end];
}

function readyEvidence(pod: Pod): Evidence[] {
  const object = `pod ${keyOf(pod)}`;
  return [
    { object, field: 'status.phase', value: fieldText(pod.status.phase) },
    {
      object,
      field: 'status.conditions[Ready].status',
      value: fieldText(conditionOf(pod.status.conditions, 'Ready')?.status),
      wouldChange: 'it becomes False or Unknown, the pod goes away, or the node is not Ready',
    },
  ];
}

function coveredEvidence(node: Node, daemonSet: DaemonSet): Evidence {
  return {
    object: `daemonset ${keyOf(daemonSet)}`,
    field: `pods on node ${node.metadata.name}`,
    value: 'Running and ready in all containers, by the table of pods',
    wouldChange: 'the table shows another state',
  };
}

function settlingEvidence(pod: Pod, daemonSet: DaemonSet): Evidence[] {
  const { minReadySeconds = 0 } = daemonSet.spec;
  const since = readyChangedAt(pod);
  const [phase, ready] = readyEvidence(pod);
  return [
    ...(phase === undefined ? [] : [phase]),
    ...(ready === undefined ? [] : [ready]),
    {
      object: `pod ${keyOf(pod)}`,
      field: 'status.conditions[Ready].lastTransitionTime',
      value: fieldText(conditionOf(pod.status.conditions, 'Ready')?.lastTransitionTime),
    },
    {
      object: `daemonset ${keyOf(daemonSet)}`,
      field: 'spec.minReadySeconds',
      value: String(minReadySeconds),
      wouldChange:
        since === undefined
          ? 'the pod tells since when it is Ready'
          : `the pod stays Ready until ${isoTime(since + minReadySeconds * 1000)}: then it counts as available`,
    },
  ];
}

/** What is said of the node itself: its Ready condition, and when it was last heard of. */
export function nodeEvidence(node: Node): Evidence[] {
  const object = `node ${node.metadata.name}`;
  const ready = conditionOf(node.status.conditions, 'Ready');
  const heartbeat = parseTime(ready?.lastHeartbeatTime);
  return [
    {
      object,
      field: 'status.conditions[Ready].status',
      value: fieldText(ready?.status),
      wouldChange:
        ready?.status === 'True'
          ? 'it becomes False or Unknown: then every gap here is node-not-ready'
          : 'it becomes True',
    },
    ...(heartbeat === undefined
      ? []
      : [
          {
            object,
            field: 'status.conditions[Ready].lastHeartbeatTime',
            value: isoTime(heartbeat),
            wouldChange: 'no report comes for 15 minutes: then nothing can be said of the node',
          },
        ]),
  ];
}
