/** Why a pod has no node yet, in the scheduler's words. */
import { type Condition, conditionOf, type Pod, type Taint } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Cause } from './model.ts';
import { parseSchedulingMessage, type SchedulingReason } from './scheduling-message.ts';
import { taintText } from './tolerations.ts';
import { shorten } from './words.ts';

/**
 * `findings`: what the scheduler says. `silent`: nothing that is a cause; `message` and `evidence`
 * say how it stands.
 */
export type SchedulingVerdict =
  | { kind: 'findings'; findings: [Finding, ...Finding[]] }
  | { kind: 'silent'; finding: Finding; alongside: Finding[] };

/**
 * The order in which several reasons are cured: what nobody but its owner can move comes first,
 * since making room is of no use while a taint or a rule keeps the pod out.
 */
const order: readonly Cause[] = [
  'untolerated-taint',
  'unknown',
  'volume',
  'unschedulable-ports',
  'unschedulable-resources',
];

/** Judges an unscheduled pod. `untolerated` are the taints of its node that it does not tolerate. */
export function judgeUnscheduled(pod: Pod, untolerated: readonly Taint[]): SchedulingVerdict {
  const condition = conditionOf(pod.status.conditions, 'PodScheduled');
  const nominated = pod.status.nominatedNodeName ?? '';
  const silent = (
    message: string,
    wouldChange: string,
    alongside: Finding[] = [],
  ): SchedulingVerdict => ({
    kind: 'silent',
    finding: {
      cause: 'unknown',
      message,
      evidence: [
        podEvidence(
          pod,
          'status.conditions[PodScheduled]',
          condition && conditionText(condition),
          wouldChange,
        ),
        ...(nominated === ''
          ? []
          : [podEvidence(pod, 'status.nominatedNodeName', nominated, wouldChange)]),
      ],
    },
    alongside,
  });
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  if (condition?.reason === 'SchedulingGated' || gates.length > 0) {
    const names = gates.length === 0 ? '' : ` (${gates.join(', ')})`;
    return silent(
      `a scheduling gate holds the pod back${names}`,
      'whoever set the gate removes it',
    );
  }
  if (condition === undefined) {
    const scheduler = pod.spec.schedulerName || 'default-scheduler';
    return silent(
      `the scheduler ${scheduler} has not looked at the pod`,
      `the scheduler ${scheduler} runs and places the pod`,
    );
  }
  if (condition.status === 'True') {
    return silent('the scheduler has placed the pod and it is not bound', 'the pod is bound');
  }
  const findings =
    condition.reason === 'Unschedulable' ? findingsOf(pod, condition, untolerated) : [];
  if (nominated !== '') {
    return silent(
      'the scheduler is making room for the pod by preemption',
      'the pods that make room are gone, or the scheduler gives it up',
      findings,
    );
  }
  if (condition.reason !== 'Unschedulable') {
    const why = condition.message || condition.reason || 'no reason given';
    return silent(
      `the scheduler could not place the pod: ${shorten(why)}`,
      'the scheduler tries again and places the pod',
    );
  }
  const [first, ...rest] = findings;
  return first === undefined
    ? silent(
        'the scheduler finds no node that the pod is for: it does not know the node, or its labels have changed since',
        'the scheduler knows the node and the pod matches it',
      )
    : { kind: 'findings', findings: [first, ...rest] };
}

/** What the scheduler says of the target node: one finding a cause, in the order of cures. */
function findingsOf(pod: Pod, condition: Condition, untolerated: readonly Taint[]): Finding[] {
  const message = condition.message ?? '';
  const reasons = parseSchedulingMessage(message).filter(
    (reason, _, all) => !isForeignTaint(reason, untolerated, all),
  );
  return order.flatMap((cause) => {
    const [first, ...rest] = reasons.filter((reason) => reason.cause === cause);
    return first === undefined ? [] : [findingOf(pod, [first, ...rest], untolerated, message)];
  });
}

/** Schedulers before 1.34 also count taints of other nodes. */
function isForeignTaint(
  { cause, taintKey }: SchedulingReason,
  untolerated: readonly Taint[],
  all: readonly SchedulingReason[],
): boolean {
  if (cause !== 'untolerated-taint' || all.every((other) => other.cause === cause)) return false;
  return !untolerated.some(({ key }) => taintKey === undefined || key === taintKey);
}

function findingOf(
  pod: Pod,
  reasons: [SchedulingReason, ...SchedulingReason[]],
  untolerated: readonly Taint[],
  message: string,
): Finding {
  const [{ cause }] = reasons;
  const evidence = [
    podEvidence(
      pod,
      'status.conditions[PodScheduled].message',
      shorten(message),
      'the scheduler places the pod',
    ),
  ];
  const said = shorten(reasons.map(({ text }) => text).join(', '));
  switch (cause) {
    case 'untolerated-taint':
      return { cause, evidence, message: taintMessage(reasons, untolerated) };
    case 'unknown':
      return {
        cause,
        evidence,
        message: `the scheduler gives a reason that nodegap does not know: ${said}`,
      };
    case 'unschedulable-ports':
      return {
        cause,
        evidence,
        message: `a host port of the pod${portsText(pod)} is taken on the node`,
      };
    default:
      return { cause, evidence, message: `the scheduler cannot place the pod: ${said}` };
  }
}

/** The taints that the scheduler names, or when it names none those that the node bears. */
function taintMessage(reasons: SchedulingReason[], untolerated: readonly Taint[]): string {
  const keys = reasons.flatMap(({ taintKey }) => (taintKey === undefined ? [] : [taintKey]));
  const names = (keys.length > 0 ? keys : untolerated.map(taintText)).join(', ');
  return names === ''
    ? 'the scheduler keeps the pod out by a taint that the node no longer bears'
    : `the scheduler keeps the pod out by taint ${names}, which it does not tolerate`;
}

function portsText(pod: Pod): string {
  const ports = (pod.spec.containers ?? []).flatMap(({ ports: list }) =>
    (list ?? []).flatMap(({ hostPort }) => (hostPort === undefined ? [] : [hostPort])),
  );
  return ports.length === 0 ? '' : ` (${ports.join(', ')})`;
}

function conditionText({ status, reason = '', message = '' }: Condition): string {
  return `${status} ${reason} ${shorten(message)}`.trim();
}
