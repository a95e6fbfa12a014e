/** What came in the place of a node that was ended. Pure. */
import { parseTime } from '../clock.ts';
import { conditionTypeOf, faultsOf, faultText, isConditionFault, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import { poolOf } from '../gap/node-kinds.ts';
import { conditionOf, keyOf, type Node, type NodeClaim, type Pod } from '../kubernetes/objects.ts';
import { toleratedSkewMs } from '../safety/observer-health.ts';
import { instanceOf } from './replacement.ts';
import type {
  CommittedReplacement,
  ReplacementVerdict,
  VerificationInput,
} from './verification-model.ts';

/**
 * Nodes that the pool got since the drain began and that are not leaving again. A node of an Auto
 * Scaling group may have no pool by its labels: then the group says which machines it has.
 */
export function newNodesOf({ facts, before, fate }: VerificationInput): Node[] {
  const members = new Set(fate?.group?.members.map(({ id }) => id));
  return facts.nodes.filter((node) => {
    if (!cameSince(node, before)) return false;
    if (before.machine === undefined) return before.pool === undefined || isOfPool(node, before);
    const id = instanceOf(node.spec.providerID)?.instanceId;
    return (id !== undefined && members.has(id)) || isOfPool(node, before);
  });
}

/** Whether the claim is one that the pool got since the drain began. */
export function isSuccessor(claim: NodeClaim, before: CommittedReplacement): boolean {
  return cameSince(claim, before) && (before.pool === undefined || isOfPool(claim, before));
}

function isOfPool(object: Node | NodeClaim, { pool }: CommittedReplacement): boolean {
  return pool !== undefined && poolOf(object) === pool;
}

function cameSince(object: Node | NodeClaim, before: CommittedReplacement): boolean {
  const { uid, creationTimestamp, deletionTimestamp } = object.metadata;
  const createdAt = parseTime(creationTimestamp);
  return (
    uid !== before.nodeUid &&
    deletionTimestamp === undefined &&
    createdAt !== undefined &&
    createdAt >= earliest(before)
  );
}

/** Creation times have whole seconds, and are of the API server's clock, `since` is of ours. */
function earliest({ since }: CommittedReplacement): number {
  return Math.floor(since / 1000) * 1000 - toleratedSkewMs;
}

/** Gaps of the same DaemonSets on new nodes, past every grace: a new node that does no better. */
export function sameGaps({ detection, before }: VerificationInput, newNodes: Node[]): Fault[] {
  const uids = new Set(newNodes.map((node) => node.metadata.uid));
  return faultsOf(detection).filter(
    (gap) =>
      uids.has(gap.nodeUid) &&
      before.daemonSets.includes(subjectOf(gap)) &&
      gap.cause !== 'node-not-ready' &&
      gap.pastGrace &&
      gap.confirmed,
  );
}

/** What a new node still lacks, in words. */
export function unreadyOn(
  { detection, before }: VerificationInput,
  newNodes: Node[],
): string | undefined {
  const uids = new Set(newNodes.map((node) => node.metadata.uid));
  const nodeNames = new Set(newNodes.map((node) => node.metadata.name));
  const fault = faultsOf(detection).find((found) => found.required && uids.has(found.nodeUid));
  if (fault !== undefined) {
    return isConditionFault(fault)
      ? `new node ${fault.node} has ${faultText(fault)}`
      : `${fault.daemonSet} is ${fault.cause} on new node ${fault.node}`;
  }
  const unreported = unreportedOn(before.daemonSets, newNodes);
  if (unreported !== undefined) return unreported;
  const unknown = detection.unknown.find(
    ({ node, condition }) => node !== undefined && condition === undefined && nodeNames.has(node),
  );
  return unknown && `new node ${unknown.node}: ${unknown.message}`;
}

/** A condition that a new node has not spoken of yet: its detector may still find the fault there. */
function unreportedOn(subjects: readonly string[], newNodes: Node[]): string | undefined {
  for (const type of subjects.map(conditionTypeOf)) {
    const silent = newNodes.find(
      ({ status }) => type !== undefined && conditionOf(status.conditions, type) === undefined,
    );
    if (silent !== undefined) {
      return `new node ${silent.metadata.name} has not reported condition ${type} yet`;
    }
  }
  return undefined;
}

/** What to wait for where pods that the drain took away have no node, in words. */
export function pendingOf({
  unscheduledPods,
  whyPending,
  before,
}: VerificationInput): string | undefined {
  const pending = unscheduledPods.filter((pod) => wasDrained(pod, before));
  if (pending.length === 0) return undefined;
  const shown = pending.slice(0, 5).map(keyOf).join(', ');
  const why = whyPending === undefined ? '' : ` (${whyPending})`;
  return `${pending.length} pods of drained workloads have no node: ${shown}${why}`;
}

/** The verdict on new nodes that have all they need. */
export function replacedBy(newNodes: Node[]): ReplacementVerdict {
  const sorted = newNodes.map((node) => node.metadata.name).sort();
  const [newNode = ''] = sorted;
  return { kind: 'replaced', newNode, newNodes: sorted };
}

/** Whether the pod stands in for one that the drain took away. */
export function wasDrained(pod: Pod, before: CommittedReplacement): boolean {
  const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller === true);
  const createdAt = parseTime(pod.metadata.creationTimestamp) ?? before.since;
  return (
    pod.metadata.deletionTimestamp === undefined &&
    owner !== undefined &&
    before.owners.includes(owner.uid) &&
    createdAt >= earliest(before)
  );
}
