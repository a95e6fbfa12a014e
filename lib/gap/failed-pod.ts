/**
 * Why the kubelet ended a pod or would not take it, or the scheduler gave its place away.
 *
 * Gotcha: `Evicted` alone does not say who is at fault. The kubelet uses it for pressure on the node
 * (eviction, and admission refused while the pressure lasts), and also for a pod that outgrows its
 * own storage limits. Only its message tells them apart.
 */
import { conditionOf, type Node, type Pod } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Cause } from './model.ts';
import { shorten } from './words.ts';

/**
 * Kubelet admission, eviction and shutdown reasons (k8s.io/kubernetes pkg/kubelet: lifecycle,
 * eviction, nodeshutdown, preemption, cm), apart from OutOf….
 */
const causeOfReason: ReadonlyMap<string, Cause> = new Map([
  ['NodePorts', 'unschedulable-ports'],
  ['TaintToleration', 'untolerated-taint'],
  ...[
    'NodeAffinity',
    'NodeName',
    'UnexpectedAdmissionError',
    'UnexpectedPredicateFailureType',
    'UnknownReason',
    'TopologyAffinityError',
    'SMTAlignmentError',
    'AppArmor',
    'SysctlForbidden',
    'PodOSNotSupported',
    'PodOSSelectorNodeLabelDoesNotMatch',
    'InvalidNodeInfo',
    'SupplementalGroupsPolicyNotSupported',
    'InitContainerRestartPolicyForbidden',
    'Evicted',
    'Preempting',
    'NodeShutdown',
    'Terminated',
  ].map((reason) => [reason, 'evicted'] as const),
]);

/** What the kubelet writes before the message of any pod that it does not admit. */
const refusal = /^Pod was rejected: /;

/** Eviction for pressure on the node, and admission refused under it (pkg/kubelet/eviction). */
const pressure = /\bThe node (was low on resource|had condition): /;

const replaced = 'the controller replaces the pod and it gets Ready';

/** Judges a pod in phase Failed or Succeeded; a reason that is not known gives `unknown`. */
export function judgeFinished(pod: Pod): Finding {
  const { phase = 'no phase', reason = '', message } = pod.status;
  const evidence = [
    podEvidence(pod, 'status.phase', phase, replaced),
    podEvidence(pod, 'status.reason', reason),
  ];
  const said = message === undefined ? '' : `: ${shorten(message)}`;
  const refused = refusal.test(message ?? '');
  const cause = reason.startsWith('OutOf')
    ? 'unschedulable-resources'
    : (causeOfReason.get(reason) ?? (refused ? 'evicted' : undefined));
  if (cause !== undefined) {
    return {
      cause,
      evidence,
      message: `the kubelet refused the pod or threw it out: ${reason === '' ? 'no reason given' : reason}${said}`,
      ...(cause === 'evicted' ? hintOf(reason, message) : {}),
    };
  }
  const disruption = disruptionOf(pod);
  if (disruption !== undefined) {
    return { ...disruption, evidence: [...evidence, ...disruption.evidence] };
  }
  return {
    cause: 'unknown',
    evidence,
    message: `the pod ended as ${phase} for a reason that nodegap does not know (${reason === '' ? 'none given' : reason})${said}`,
  };
}

/**
 * What the DisruptionTarget condition says of a pod, when kubelet or scheduler ended it. Its reasons
 * for other ends (an eviction call, a NoExecute taint, the clean-up after a node) say who asked for
 * a deletion, which is no cause.
 */
export function disruptionOf(pod: Pod): Finding | undefined {
  const condition = conditionOf(pod.status.conditions, 'DisruptionTarget');
  if (condition?.status !== 'True') return undefined;
  const evidence = [
    podEvidence(pod, 'status.conditions[DisruptionTarget].reason', condition.reason, replaced),
  ];
  const said = condition.message === undefined ? '' : `: ${shorten(condition.message)}`;
  switch (condition.reason) {
    case 'PreemptionByScheduler':
      return {
        cause: 'evicted',
        evidence,
        message: `the pod was preempted for one of higher priority${said}`,
        hint: 'preempted',
      };
    case 'TerminationByKubelet':
      return {
        cause: 'evicted',
        evidence,
        message: `the kubelet ended the pod${said}`,
        ...hintOf(
          pod.status.reason ?? '',
          `${condition.message ?? ''} ${pod.status.message ?? ''}`,
        ),
      };
    default:
      return undefined;
  }
}

const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The finding, with the pressure that its node is under at this moment. */
export function withPressure(finding: Finding, node: Node): Finding {
  if (finding.cause !== 'evicted') return finding;
  const conditions = pressures.filter(
    (type) => conditionOf(node.status.conditions, type)?.status === 'True',
  );
  return {
    ...finding,
    evidence: [
      ...finding.evidence,
      ...conditions.map((type) => ({
        object: `node ${node.metadata.name}`,
        field: `status.conditions[${type}].status`,
        value: 'True',
        wouldChange: 'the pressure on the node ends',
      })),
    ],
  };
}

const askers: ReadonlyMap<string, string> = new Map([
  ['EvictionByEvictionAPI', 'by an eviction call'],
  ['DeletionByTaintManager', 'for a NoExecute taint of the node'],
  ['DeletionByPodGC', 'by the clean-up of orphaned pods'],
]);

/** Who asked for the deletion of a pod, in words, where the pod says so. */
export function deletionAskerOf(pod: Pod): string | undefined {
  const condition = conditionOf(pod.status.conditions, 'DisruptionTarget');
  return condition?.status === 'True' ? askers.get(condition.reason ?? '') : undefined;
}

function hintOf(reason: string, message = ''): Pick<Finding, 'hint'> {
  if (reason === 'Preempting') return { hint: 'preempted' };
  const underPressure = (reason === 'Evicted' || reason === '') && pressure.test(message);
  return underPressure ? {} : { hint: 'refused' };
}
