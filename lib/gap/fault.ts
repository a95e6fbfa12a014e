import { type Cause, type ConditionFault, causes, type Detection, type Fault } from './model.ts';

/** What a fault goes back to. */
export const faultCauses = [...causes, 'node-condition'] as const;
export type FaultCause = Cause | 'node-condition';

export function isConditionFault(fault: Fault): fault is ConditionFault {
  return 'condition' in fault;
}

/** All faults of a detection: its gaps, then its conditions. */
export function faultsOf(detection: Pick<Detection, 'gaps' | 'conditionFaults'>): Fault[] {
  return [...detection.gaps, ...(detection.conditionFaults ?? [])];
}

/**
 * The name under which a fault is kept, one for each on a node: the DaemonSet, or the condition
 * without status and reason, since a change of cause begins no new fault.
 */
export function subjectOf(fault: Fault): string {
  return isConditionFault(fault) ? conditionSubject(fault.condition.type) : fault.daemonSet;
}

const conditionPrefix = 'condition ';

export function conditionSubject(type: string): string {
  return `${conditionPrefix}${type}`;
}

/** The type of the condition that a subject names; undefined when it names a DaemonSet. */
export function conditionTypeOf(subject: string): string | undefined {
  return subject.startsWith(conditionPrefix) ? subject.slice(conditionPrefix.length) : undefined;
}

/** A fault in words: the DaemonSet, or `condition KernelDeadlock=True (DockerHung)`. */
export function faultText(fault: Fault): string {
  return isConditionFault(fault) ? conditionText(fault.condition) : fault.daemonSet;
}

/** A fault with its cause: `kube-system/aws-node: crash-loop`, or the condition in words. */
export function faultWithCause(fault: Fault): string {
  const text = faultText(fault);
  return isConditionFault(fault) ? text : `${text}: ${fault.cause}`;
}

/** A condition in words: `condition KernelDeadlock=True (DockerHung)`. */
export function conditionText(condition: {
  type: string;
  status: string;
  reason?: string;
}): string {
  const { type, status, reason = '' } = condition;
  return `condition ${type}=${status}${reason === '' ? '' : ` (${reason})`}`;
}
