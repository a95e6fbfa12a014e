/** Why a pod has ended for good: the kubelet refused it or threw it out. */
import { conditionOf, type Pod } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Cause } from './model.ts';
import { shorten } from './words.ts';

/** Kubelet admission and eviction reasons (k8s.io/kubernetes pkg/kubelet), apart from OutOf…. */
const causeOfReason: ReadonlyMap<string, Cause> = new Map([
  ['NodePorts', 'unschedulable-ports'],
  ['TaintToleration', 'untolerated-taint'],
  ...[
    'NodeAffinity',
    'NodeName',
    'UnexpectedAdmissionError',
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

/** Judges a pod in phase Failed or Succeeded; a reason that is not known gives `unknown`. */
export function judgeFinished(pod: Pod): Finding {
  const { phase, reason = '', message } = pod.status;
  const evidence = [
    podEvidence(pod, 'status.phase', phase, 'the controller replaces the pod and it gets Ready'),
    podEvidence(pod, 'status.reason', pod.status.reason),
  ];
  const said = message === undefined ? '' : `: ${shorten(message)}`;
  const cause = reason.startsWith('OutOf') ? 'unschedulable-resources' : causeOfReason.get(reason);
  if (cause !== undefined) {
    return {
      cause,
      evidence,
      message: `the kubelet refused the pod or threw it out: ${reason}${said}`,
      ...(reason === 'Preempting' ? { hint: 'preempted' } : {}),
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

/** What the DisruptionTarget condition says, when the kubelet or the scheduler ended the pod. */
export function disruptionOf(pod: Pod): Finding | undefined {
  const condition = conditionOf(pod.status.conditions, 'DisruptionTarget');
  if (condition?.status !== 'True') return undefined;
  const evidence = [
    podEvidence(pod, 'status.conditions[DisruptionTarget].reason', condition.reason),
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
      return { cause: 'evicted', evidence, message: `the kubelet ended the pod${said}` };
    default:
      return undefined;
  }
}
