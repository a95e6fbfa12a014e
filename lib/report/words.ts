/** Short words for tables; the full sentence of a verdict is shown by wide output and explain. */
import type { GapVerdict } from '../remediation/actionable.ts';

/** Reason codes of gaps that are not acted on, in a few words each. */
const shortWords: Record<string, string> = {
  'not-required': 'not required',
  'ceiling-alert': 'alert only, as configured',
  'hands-off': 'alert only, not cured by touching the node',
  'node-not-ready': 'left to node repair',
  'blame-daemonset': 'alert only, the DaemonSet is at fault',
  'blame-zone': 'alert only, the zone is at fault',
  'blame-cluster': 'alert only, the cluster is at fault',
  'blame-unclear': 'wait, nothing shows that the node is at fault',
  young: 'wait, younger than its grace',
  starting: 'wait, still starting',
  rollout: 'wait, being rolled out',
  unconfirmed: 'wait, not yet seen in enough scans',
  'canary-elsewhere': 'wait, another node goes first',
  'breaker-open': 'hold, too much is unhealthy',
  'breaker-cooling': 'hold, the breaker cools down',
  'breaker-tripped': 'hold, a person tripped the breaker',
};

/** Why nothing is done, in a few words. Codes that are not in the table are vetoes of the node. */
export function shortReason(verdict: Extract<GapVerdict, { kind: 'not-actionable' }>): string {
  return shortWords[verdict.code] ?? `leave alone, ${verdict.code}`;
}

/** `1 node`, `2 nodes`. */
export function plural(count: number, singular: string, several = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : several}`;
}
