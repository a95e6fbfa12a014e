import { faultText, faultWithCause, isConditionFault, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { Notice } from '../ports.ts';
import { isIsolationTaint, readMark } from '../safety/ownership.ts';
import type { FaultVerdict } from './actionable.ts';

/** A node that an attempt is wanted for, and why. */
export interface WantedAttempt {
  node: string;
  nodeUid: string;
  why: 'gap' | 'mark-without-execution';
}

/** An alert of something that touching a node does not cure. One for each key, however many nodes. */
export interface GapAlert {
  key: string;
  notice: Notice;
}

export interface ScanPlan {
  attempts: WantedAttempt[];
  alerts: GapAlert[];
}

/** Passing reasons are no news, and open breakers send a notice of their own. */
const silent = new Set([
  'not-required',
  'node-not-ready',
  'breaker-open',
  'breaker-cooling',
  // Others are at it, and have reports of their own.
  'left-to-karpenter',
  'left-to-eks',
  'left-to-auto-mode',
]);

/** Deferrals that pass, and that a person can do something about now. */
const worthTelling = new Set(['blame-unclear', 'observer-unknown', 'remediations-unreadable']);

/**
 * Decides, purely, what a scan asks for: an attempt for each node with an actionable fault, an
 * attempt for each node that bears our mark or taint while no execution has its slot (safety rule
 * 10), and an alert for each DaemonSet whose gaps touching a node does not cure.
 */
export function planScan(input: {
  cluster: string;
  verdicts: readonly FaultVerdict[];
  nodes: readonly Node[];
  /** Uids of the nodes whose slot a live execution has. */
  inWork: ReadonlySet<string>;
  installation: string;
}): ScanPlan {
  const { cluster, verdicts, nodes, inWork, installation } = input;
  const attempts = new Map<string, WantedAttempt>();
  for (const node of nodes) {
    const { name, uid, deletionTimestamp } = node.metadata;
    if (deletionTimestamp !== undefined || inWork.has(uid)) continue;
    if (bearsOurs(node, installation)) {
      attempts.set(uid, { node: name, nodeUid: uid, why: 'mark-without-execution' });
    }
  }
  for (const verdict of verdicts) {
    const { node, nodeUid } = verdict.gap;
    if (verdict.kind !== 'actionable' || inWork.has(nodeUid)) continue;
    attempts.set(nodeUid, { node, nodeUid, why: 'gap' });
  }
  // A node in work or isolated has its own reports, and our taint may be what keeps its pods out.
  const reported = new Set([...inWork, ...nodes.flatMap(isolatedUid(installation))]);
  const others = verdicts.filter(({ gap }) => !reported.has(gap.nodeUid));
  return { attempts: [...attempts.values()], alerts: alertsOf(cluster, others) };
}

/** Our mark, or our taint without any mark: the key is nodegap's alone. */
function bearsOurs(node: Node, installation: string): boolean {
  const mark = readMark(node, installation).kind;
  return mark === 'ours' || (mark === 'none' && node.spec.taints?.some(isIsolationTaint) === true);
}

function isolatedUid(installation: string): (node: Node) => string[] {
  return (node) => (bearsOurs(node, installation) ? [node.metadata.uid] : []);
}

function alertsOf(cluster: string, verdicts: readonly FaultVerdict[]): GapAlert[] {
  const groups = new Map<string, { code: string; message: string; gaps: Fault[] }>();
  for (const verdict of verdicts) {
    const { gap } = verdict;
    if (verdict.kind === 'actionable' || silent.has(verdict.code)) continue;
    // What passes by itself is no news. An unclear blame may clear up, but a person can do it now.
    if (verdict.passing && !worthTelling.has(verdict.code)) continue;
    if (!gap.pastGrace || !gap.confirmed || !gap.required) continue;
    // Of a node that is not Ready every DaemonSet tells the same.
    const about = gap.cause === 'node-not-ready' ? gap.cause : subjectOf(gap);
    const key = `${about}#${verdict.code}`;
    const group = groups.get(key) ?? { code: verdict.code, message: verdict.message, gaps: [] };
    group.gaps.push(gap);
    groups.set(key, group);
  }
  return [...groups].map(([key, { code, message, gaps }]) => ({
    key,
    notice: alertNotice(cluster, code, message, gaps),
  }));
}

function alertNotice(cluster: string, code: string, message: string, gaps: Fault[]): Notice {
  const [first] = gaps;
  const nodes = [...new Set(gaps.map((gap) => gap.node))];
  const count = nodes.length === 1 ? '1 node' : `${nodes.length} nodes`;
  const names = nodes.slice(0, 20);
  const more = nodes.length > 20 ? ` and ${nodes.length - 20} more` : '';
  const what = wordsOf(first);
  return {
    kind: 'alert',
    cluster,
    subject: `nodegap: ${what.state} on ${count} in ${cluster}: ${what.cause}${code}`.slice(0, 100),
    body: [
      `${what.fault} on ${names.join(', ')}${more}.`,
      message,
      first?.message ?? '',
      'No node was touched for it.',
      `Look further: nodegap explain ${first?.node ?? ''}${what.argument}`,
    ].join('\n'),
  };
}

/** A fault in the words of an alert. */
function wordsOf(fault: Fault | undefined): {
  state: string;
  cause: string;
  fault: string;
  argument: string;
} {
  if (fault === undefined) return { state: '', cause: '', fault: '', argument: '' };
  if (isConditionFault(fault)) {
    const text = faultText(fault);
    return { state: text, cause: '', fault: text, argument: '' };
  }
  const { daemonSet, cause } = fault;
  if (cause === 'node-not-ready') {
    const state = 'the node itself is not Ready';
    return { state, cause: '', fault: state, argument: '' };
  }
  return {
    state: `${daemonSet} not Ready`,
    cause: `${cause}, `,
    fault: faultWithCause(fault),
    argument: ` ${daemonSet}`,
  };
}
