/** Short words for tables; the full sentence of a verdict is shown by wide output and explain. */
import type { FaultVerdict } from '../remediation/actionable.ts';
import type { VetoCode } from '../safety/vetoes.ts';

/** Reason codes of gaps that are not acted on, in a few words each. */
const shortWords: Record<string, string> = {
  'not-required': 'not required',
  'ceiling-alert': 'alert only, as configured',
  'hands-off': 'alert only, not cured by touching the node',
  'node-not-ready': 'wait, a second observer has to agree',
  'blame-daemonset': 'alert only, the DaemonSet is at fault',
  'blame-zone': 'alert only, the zone is at fault',
  'blame-cluster': 'alert only, the cluster is at fault',
  'blame-unclear': 'wait, nothing shows that the node is at fault',
  young: 'wait, younger than its grace',
  starting: 'wait, still starting',
  rollout: 'wait, being rolled out',
  unconfirmed: 'wait, not yet seen in enough scans',
  'canary-elsewhere': 'wait, another node goes first',
  'left-to-karpenter': "leave to Karpenter's node repair",
  'left-to-eks': 'leave to EKS node auto repair',
  'left-to-auto-mode': 'leave to EKS Auto Mode',
  'eks-repair-unreadable': 'leave to EKS, whose node repair could not be read',
  'observer-disagrees': 'hold, the second observer disagrees',
  'observer-unknown': 'hold, the second observer cannot tell',
  'observer-unwell': 'hold, nodegap cannot see well',
  'remediations-unreadable': 'hold, medik8s could not be asked',
  'breaker-open': 'hold, too much is unhealthy',
  'breaker-zone': 'hold, the zone seems at fault',
  'breaker-reopening': 'hold, the breaker reopens step by step',
  'breaker-cooling': 'hold, the breaker cools down',
  'breaker-tripped': 'hold, a person tripped the breaker',
  'condition-since-isolation': 'leave alone, nodegap itself may be the cause',
  'node-gone': 'leave alone, it is gone',
};

const vetoWords: Record<VetoCode, string> = {
  'node-deleting': 'it is being deleted',
  'claim-deleting': 'its NodeClaim is being deleted',
  'karpenter-disrupted': 'Karpenter is removing it',
  'autoscaler-deleting': 'the cluster autoscaler is removing it',
  'autoscaler-candidate': 'the cluster autoscaler is about to remove it',
  leaving: 'it is leaving',
  skip: 'annotated nodegap.dev/skip',
  'do-not-repair': 'annotated karpenter.sh/do-not-repair',
  'excluded-from-remediation': 'labelled remediation.medik8s.io/exclude-from-remediation',
  'medik8s-remediation': 'medik8s is remediating it',
  'medik8s-maintenance': 'medik8s has it in maintenance',
  'out-of-service': 'somebody declared it dead',
  'skip-remediation': 'annotated cluster.x-k8s.io/skip-remediation',
  unmanaged: 'labelled as not managed by NVSentinel',
  'human-uncordoned': 'a person uncordoned it',
  'foreign-mark': 'another nodegap isolated it',
  'unreadable-mark': "nodegap's mark on it cannot be read",
  'mark-missing': "it lacks nodegap's mark",
  'other-execution': 'another execution works on it',
};

function isVeto(code: string): code is VetoCode {
  return code in vetoWords;
}

/** Why nothing is done, in a few words. A code without words, which none should be, stands for itself. */
export function shortReason({
  code,
  gap,
}: Extract<FaultVerdict, { kind: 'not-actionable' }>): string {
  if (code === 'hands-off' && gap.cause === 'unknown') return 'alert only, cause unknown';
  if (isVeto(code)) return `leave alone, ${vetoWords[code]}`;
  return shortWords[code] ?? code;
}

/** `1 node`, `2 nodes`. */
export function plural(count: number, singular: string, several = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : several}`;
}
