/**
 * Reads the scheduler's sentence in a PodScheduled condition.
 *
 * `0/N nodes are available: COUNT REASON, COUNT REASON. PREEMPTION…`, or one reason without a count
 * when a check before all nodes failed. A DaemonSet pod can go to one node only, so since 1.34 every
 * other node stands under "didn't satisfy plugin(s) [NodeAffinity]" (before: "didn't match Pod's node
 * affinity/selector") and what is left is about the target; one node may give several reasons. What
 * follows the reasons is about preemption, never a cause, whatever resources it names.
 */
import type { Cause } from './model.ts';

export interface SchedulingReason {
  cause: Cause;
  /** The scheduler's words without the count. */
  text: string;
  /** Key of the taint, when the scheduler names it (Kubernetes up to 1.33) or it is the cordon's. */
  taintKey?: string;
}

/** Every reason that is about the target node, in the scheduler's order. */
export function parseSchedulingMessage(message: string): SchedulingReason[] {
  const body = message.replace(/^\s*\d+\/\d+ nodes are available:\s*/, '');
  // The reasons are one sentence (framework.FitError); a sentence after it is of a later phase.
  const end = [/\.\s/, /\.? preemption:/]
    .map((pattern) => body.search(pattern))
    .filter((index) => index >= 0);
  const reasons = body
    .slice(0, Math.min(body.length, ...end))
    .trim()
    .replace(/\.$/, '')
    .split(/, (?=\d+ )/)
    .map((part) => part.replace(/^\d+ /, '').trim())
    .filter((part) => part !== '');
  return reasons.filter((text) => !isAboutOtherNodes(text)).map(reasonOf);
}

function isAboutOtherNodes(text: string): boolean {
  return (
    text.startsWith("node(s) didn't satisfy plugin(s) [") ||
    text === "node(s) didn't match Pod's node affinity/selector" ||
    text === "node(s) didn't match Pod's node affinity"
  );
}

/** The taint that mirrors a cordon. */
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';

const causeOfReason: readonly [RegExp, Cause][] = [
  [/^Insufficient \S+/, 'unschedulable-resources'],
  [/^Too many pods/, 'unschedulable-resources'],
  [/^node\(s\) didn't have free ports/, 'unschedulable-ports'],
  [/^node\(s\) had (untolerated )?taints?\b/, 'untolerated-taint'],
  [/^node\(s\) were unschedulable/, 'untolerated-taint'],
  [/^node\(s\) had no available volume zone/, 'volume'],
  [/^node\(s\) didn't find available persistent volumes to bind/, 'volume'],
  [/^node\(s\) didn't match PersistentVolume's node affinity/, 'volume'],
  [/^node\(s\) had volume node affinity conflict/, 'volume'],
  [/^node\(s\) exceed max volume count/, 'volume'],
  [/^node\(s\) had no available disk/, 'volume'],
  [/^node\(s\) did not have enough free storage/, 'volume'],
  [/persistentvolume|\bpvc\b/i, 'volume'],
];

function reasonOf(text: string): SchedulingReason {
  const cause = causeOfReason.find(([pattern]) => pattern.test(text))?.[1] ?? 'unknown';
  const taintKey = text.startsWith('node(s) were unschedulable')
    ? UNSCHEDULABLE
    : /\btaint \{([^:}]+):/.exec(text)?.[1]?.trim();
  return { cause, text, ...(taintKey === undefined ? {} : { taintKey }) };
}
