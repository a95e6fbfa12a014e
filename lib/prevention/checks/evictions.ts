/**
 * How soon workload leaves a node that is lost. Pods without a toleration of their own get 300 s
 * from admission (k8s.io/kubernetes plugin DefaultTolerationSeconds).
 */
import { toleratesTaint } from '../../gap/tolerations.ts';
import type { Toleration } from '../../kubernetes/objects.ts';
import { printable } from '../../printable.ts';
import { quoted } from '../../report/shell.ts';
import type { Found, Workload } from '../facts.ts';
import type { AuditSubject } from '../findings.ts';
import { isPatched, templatePatch } from './change.ts';
import { type AuditContext, type Checked, change, type Finding, listed } from './context.ts';

const keys = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] as const;
const defaultSeconds = 300;
/** Until a silent node is tainted: node-monitor-grace-period of kube-controller-manager (1.32 and on). */
export const detectionSeconds = 50;
/** Below this a restart of the kubelet, or of the network, moves every pod. */
const blipSeconds = 30;
/** What is proposed in its place when no objective is stated. */
const calmSeconds = 60;

interface Leaving {
  key: string;
  /** Undefined: never. */
  seconds: number | undefined;
  /** No toleration says so: admission does. */
  byDefault: boolean;
}

export function checkEvictions(context: AuditContext): Checked {
  const { workloads } = context.facts;
  const { recoverySlo } = context.config.audit;
  const checked: Checked = { findings: [], notChecked: [] };
  if (workloads.kind !== 'read') {
    const { reason } = workloads;
    checked.notChecked.push({ check: 'short-toleration', reason });
    if (recoverySlo !== undefined) {
      checked.notChecked.push({ check: 'recovery-slower-than-slo', reason });
    }
    return checked;
  }
  for (const found of workloads.items) {
    if (found.object.replicas === 0 || found.object.kind === 'DaemonSet') continue;
    const leavings = keys.map((key) => leavingOf(found.object.tolerations, key));
    const short = leavings.filter(({ seconds }) => seconds !== undefined && seconds < blipSeconds);
    if (short.length > 0) checked.findings.push(shortToleration(context, found, short));
    if (recoverySlo === undefined) continue;
    const slow = leavings.filter(
      ({ seconds }) => seconds === undefined || seconds + detectionSeconds > recoverySlo,
    );
    if (slow.length > 0) checked.findings.push(slowRecovery(context, found, slow, recoverySlo));
  }
  return checked;
}

/**
 * When the taint manager deletes a pod for one taint: the first toleration that covers it counts
 * (k8s.io/kubernetes pkg/apis/core/v1/helper GetMatchingTolerations). Without tolerationSeconds it
 * stays for ever; with 0 or less it leaves at once.
 */
function leavingOf(tolerations: readonly Toleration[], key: string): Leaving {
  const taint = { key, effect: 'NoExecute' };
  const first = tolerations.find((toleration) => toleratesTaint(toleration, taint));
  if (first === undefined) return { key, seconds: defaultSeconds, byDefault: true };
  const { tolerationSeconds } = first;
  return {
    key,
    seconds: tolerationSeconds === undefined ? undefined : Math.max(0, tolerationSeconds),
    byDefault: false,
  };
}

function shortToleration(
  context: AuditContext,
  found: Found<Workload>,
  short: readonly Leaving[],
): Finding {
  const subject = subjectOf(found);
  const { recoverySlo } = context.config.audit;
  const wanted =
    recoverySlo === undefined
      ? calmSeconds
      : Math.max(blipSeconds, Math.min(calmSeconds, recoverySlo - detectionSeconds));
  return {
    check: 'short-toleration',
    severity: 'warning',
    subject,
    message: `Pods of ${nameOf(found.object)} leave after ${listed(short.map(({ key, seconds }) => `${seconds} s of ${key}`))}`,
    why: `A node that is away for a moment (restart of its kubelet, blip of its network) loses all of them at once, past their PodDisruptionBudgets.`,
    change: tolerationsChange(context, found, subject, wanted),
  };
}

function slowRecovery(
  context: AuditContext,
  found: Found<Workload>,
  slow: readonly Leaving[],
  slo: number,
): Finding {
  const subject = subjectOf(found);
  const times = slow.map(({ key, seconds, byDefault }) =>
    seconds === undefined
      ? `never at ${key}`
      : `${seconds} s after ${key}${byDefault ? ', the default,' : ''}`,
  );
  const possible = slo - detectionSeconds;
  return {
    check: 'recovery-slower-than-slo',
    severity: 'warning',
    subject,
    message: `Pods of ${nameOf(found.object)} leave a lost node ${listed(times)} and the node is noticed after ${detectionSeconds} s: audit.recoverySlo is ${slo} s`,
    why: 'When their node is lost they are counted as running there until then, and nothing runs in their place.',
    change:
      possible < blipSeconds
        ? `Tolerations alone cannot keep ${slo} s: a node is only noticed after ${detectionSeconds} s, and less than ${blipSeconds} s more evicts pods for a blip. Run replicas on several nodes, or raise audit.recoverySlo to ${detectionSeconds + blipSeconds}s or more.`
        : tolerationsChange(context, found, subject, possible),
  };
}

function tolerationsChange(
  context: AuditContext,
  { object: { kind, tolerations, metadata } }: Found<Workload>,
  subject: AuditSubject,
  tolerationSeconds: number,
): string {
  const others = tolerations.filter(
    (toleration) =>
      !keys.some(
        (key) => toleration.key === key && toleratesTaint(toleration, { key, effect: 'NoExecute' }),
      ),
  );
  // Before the others: the first that covers a taint counts.
  const list = [
    ...keys.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds })),
    ...others,
  ];
  const patch = templatePatch({ tolerations: list });
  if (isPatched(kind)) return change(context, subject, kind, patch);
  const where = metadata.namespace === undefined ? '' : `-n ${quoted(metadata.namespace)} `;
  return `# ${printable(kind)} takes no change of its tolerations in place: write these where it is made, and make it again\n# ${printable(`kubectl ${where}get ${kind.toLowerCase()} ${quoted(metadata.name)} -o yaml`)}\ntolerations: ${JSON.stringify(list)}`;
}

function subjectOf({ object: { kind, metadata }, origin }: Found<Workload>): AuditSubject {
  const { namespace, name } = metadata;
  return { kind, ...(namespace === undefined ? {} : { namespace }), name, origin };
}

function nameOf({ kind, metadata: { namespace, name } }: Workload): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}
