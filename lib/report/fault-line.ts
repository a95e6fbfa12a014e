import type { ConfirmResult } from '../remediation/workflow-state.ts';

/**
 * What an attempt is about, for notices: `Gap: kube-system/aws-node (missing, blame node).` or
 * `Fault: condition KernelDeadlock=True (DockerHung) (blame node).`; `since` stands after the first
 * word.
 */
export function faultLine({ daemonSets, faults, cause, blame }: ConfirmResult, since = ''): string {
  return cause === 'node-condition'
    ? `Fault${since}: ${faults ?? daemonSets} (blame ${blame}).`
    : `Gap${since}: ${daemonSets} (${cause}, blame ${blame}).`;
}
