import type { Gap } from '../gap/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { Notice } from '../ports.ts';
import { isIsolationTaint, readMark } from '../safety/ownership.ts';
import type { GapVerdict } from './actionable.ts';

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
const silent = new Set(['not-required', 'node-not-ready', 'breaker-open', 'breaker-cooling']);

/**
 * Decides, purely, what a scan asks for: an attempt for each node with an actionable gap, an
 * attempt for each node that bears our mark or taint while no execution has its slot (safety rule
 * 10), and an alert for each DaemonSet whose gaps touching a node does not cure.
 */
export function planScan(input: {
  cluster: string;
  verdicts: readonly GapVerdict[];
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

function alertsOf(cluster: string, verdicts: readonly GapVerdict[]): GapAlert[] {
  const groups = new Map<string, { code: string; message: string; gaps: Gap[] }>();
  for (const verdict of verdicts) {
    const { gap } = verdict;
    if (verdict.kind === 'actionable' || silent.has(verdict.code)) continue;
    // What passes by itself is no news. An unclear blame may clear up, but a person can do it now.
    if (verdict.passing && verdict.code !== 'blame-unclear') continue;
    if (!gap.pastGrace || !gap.confirmed || !gap.required) continue;
    const key = `${gap.daemonSet}#${verdict.code}`;
    const group = groups.get(key) ?? { code: verdict.code, message: verdict.message, gaps: [] };
    group.gaps.push(gap);
    groups.set(key, group);
  }
  return [...groups].map(([key, { code, message, gaps }]) => ({
    key,
    notice: alertNotice(cluster, code, message, gaps),
  }));
}

function alertNotice(cluster: string, code: string, message: string, gaps: Gap[]): Notice {
  const [first] = gaps;
  const daemonSet = first?.daemonSet ?? '';
  const count = gaps.length === 1 ? '1 node' : `${gaps.length} nodes`;
  const names = gaps.slice(0, 20).map((gap) => gap.node);
  const more = gaps.length > 20 ? ` and ${gaps.length - 20} more` : '';
  return {
    kind: 'alert',
    cluster,
    subject:
      `nodegap: ${daemonSet} not Ready on ${count} in ${cluster}: ${first?.cause ?? ''}, ${code}`.slice(
        0,
        100,
      ),
    body: [
      `${daemonSet}: ${first?.cause ?? ''} on ${names.join(', ')}${more}.`,
      message,
      first?.message ?? '',
      'No node was touched for it.',
      `Look further: nodegap explain ${first?.node ?? ''} ${daemonSet}`,
    ].join('\n'),
  };
}
