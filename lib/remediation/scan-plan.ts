import { subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import { isIsolationTaint, readMark } from '../safety/ownership.ts';
import type { FaultVerdict } from './actionable.ts';

/** A node that an attempt is wanted for, and why. */
export interface WantedAttempt {
  node: string;
  nodeUid: string;
  why: 'gap' | 'mark-without-execution';
  /** It bears our mark or taint, so somebody has to come back to it. */
  isolated: boolean;
}

/** Something to tell that touching a node does not cure. One for each key, however many nodes. */
export interface GapAlert {
  key: string;
  code: string;
  message: string;
  /** At least one. */
  faults: Fault[];
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
  verdicts: readonly FaultVerdict[];
  nodes: readonly Node[];
  /** Uids of the nodes that a live execution works on; see `workedOn`. */
  inWork: ReadonlySet<string>;
  installation: string;
}): ScanPlan {
  const { verdicts, nodes, inWork, installation } = input;
  const attempts = new Map<string, WantedAttempt>();
  for (const node of nodes) {
    const { name, uid, deletionTimestamp } = node.metadata;
    if (deletionTimestamp !== undefined || inWork.has(uid)) continue;
    if (bearsOurs(node, installation)) {
      const why = 'mark-without-execution';
      attempts.set(uid, { node: name, nodeUid: uid, why, isolated: true });
    }
  }
  for (const verdict of verdicts) {
    const { node, nodeUid } = verdict.gap;
    if (verdict.kind !== 'actionable' || inWork.has(nodeUid)) continue;
    const isolated = attempts.get(nodeUid)?.isolated ?? false;
    attempts.set(nodeUid, { node, nodeUid, why: 'gap', isolated });
  }
  // A node in work or isolated has its own reports, and our taint may be what keeps its pods out.
  const reported = new Set([...inWork, ...nodes.flatMap(isolatedUid(installation))]);
  const others = verdicts.filter(({ gap }) => !reported.has(gap.nodeUid));
  return { attempts: [...attempts.values()], alerts: alertsOf(others) };
}

/**
 * Uids of the nodes that an execution may have worked on while the cluster was read: it had their
 * slot before or after. What was read of a node whose execution ended in between is from the past:
 * it may still show the gap, or the mark, that this very execution took away.
 */
export function workedOn(slots: {
  before: readonly { nodeUid: string }[];
  after: readonly { nodeUid: string }[];
  /** Uids of nodes whose slot this scan took from a dead execution: nobody works on these. */
  freed: readonly string[];
}): Set<string> {
  const freed = new Set(slots.freed);
  const before = slots.before.filter(({ nodeUid }) => !freed.has(nodeUid));
  return new Set([...before, ...slots.after].map(({ nodeUid }) => nodeUid));
}

/** Our mark, or our taint without any mark: the key is nodegap's alone. */
function bearsOurs(node: Node, installation: string): boolean {
  const mark = readMark(node, installation).kind;
  return mark === 'ours' || (mark === 'none' && node.spec.taints?.some(isIsolationTaint) === true);
}

function isolatedUid(installation: string): (node: Node) => string[] {
  return (node) => (bearsOurs(node, installation) ? [node.metadata.uid] : []);
}

function alertsOf(verdicts: readonly FaultVerdict[]): GapAlert[] {
  const groups = new Map<string, GapAlert>();
  for (const verdict of verdicts) {
    const { gap } = verdict;
    if (verdict.kind === 'actionable' || silent.has(verdict.code)) continue;
    // What passes by itself is no news. An unclear blame may clear up, but a person can do it now.
    if (verdict.passing && !worthTelling.has(verdict.code)) continue;
    if (!gap.pastGrace || !gap.confirmed || !gap.required) continue;
    // Of a node that is not Ready every DaemonSet tells the same.
    const about = gap.cause === 'node-not-ready' ? gap.cause : subjectOf(gap);
    const key = `${about}#${verdict.code}`;
    const { code, message } = verdict;
    const group = groups.get(key) ?? { key, code, message, faults: [] };
    group.faults.push(gap);
    groups.set(key, group);
  }
  return [...groups.values()];
}
