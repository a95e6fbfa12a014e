/** Why a pod has no node yet, in the scheduler's words. */
import { conditionOf, type Pod, type Taint } from '../kubernetes/objects.ts';
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
  const silent = (message: string, alongside: Finding[] = []): SchedulingVerdict => ({
    kind: 'silent',
    finding: {
      cause: 'unknown',
      message,
      evidence: [
        podEvidence(pod, 'status.conditions[PodScheduled]', conditionText(condition)),
        podEvidence(pod, 'status.nominatedNodeName', pod.status.nominatedNodeName),
      ].filter(({ value }) => value !== 'absent' || condition === undefined),
    },
    alongside,
  });
  if (condition === undefined) {
    const scheduler = pod.spec.schedulerName ?? 'default-scheduler';
    return silent(`the scheduler ${scheduler} has not looked at the pod`);
  }
  if (condition.reason === 'SchedulingGated') {
    return silent('a scheduling gate holds the pod back');
  }
  if (condition.reason !== 'Unschedulable') {
    return silent(
      `the scheduler could not place the pod: ${shorten(condition.message ?? condition.reason ?? 'no reason given')}`,
    );
  }
  const message = condition.message ?? '';
  const findings = parseSchedulingMessage(message)
    .filter((reason, _, all) => !isForeignTaint(reason, untolerated, all))
    .map((reason) => findingOf(pod, reason, untolerated, message))
    .sort((a, b) => order.indexOf(a.cause) - order.indexOf(b.cause));
  if (pod.status.nominatedNodeName !== undefined && pod.status.nominatedNodeName !== '') {
    return silent('the scheduler is making room for the pod by preemption', findings);
  }
  const [first, ...rest] = findings;
  return first === undefined
    ? silent('the scheduler does not find the node that the pod is for')
    : { kind: 'findings', findings: [first, ...rest] };
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
  reason: SchedulingReason,
  untolerated: readonly Taint[],
  message: string,
): Finding {
  const evidence = [
    podEvidence(
      pod,
      'status.conditions[PodScheduled].message',
      shorten(message),
      'the scheduler places the pod',
    ),
  ];
  switch (reason.cause) {
    case 'untolerated-taint':
      return { cause: reason.cause, evidence, message: taintMessage(reason, untolerated) };
    case 'unknown':
      return {
        cause: 'unknown',
        evidence,
        message: `the scheduler gives a reason that nodegap does not know: ${shorten(reason.text)}`,
      };
    case 'unschedulable-ports':
      return {
        cause: reason.cause,
        evidence,
        message: `a host port of the pod${portsText(pod)} is taken on the node`,
      };
    default:
      return {
        cause: reason.cause,
        evidence,
        message: `the scheduler cannot place the pod: ${shorten(reason.text)}`,
      };
  }
}

function taintMessage({ taintKey }: SchedulingReason, untolerated: readonly Taint[]): string {
  if (taintKey !== undefined) {
    return `the scheduler keeps the pod out by taint ${taintKey}, which it does not tolerate`;
  }
  const names = untolerated.map(taintText).join(', ');
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

function conditionText(condition: ReturnType<typeof conditionOf>): string | undefined {
  if (condition === undefined) return undefined;
  return `${condition.status} ${condition.reason ?? ''} ${shorten(condition.message ?? '')}`.trim();
}
