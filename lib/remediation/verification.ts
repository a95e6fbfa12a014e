/**
 * Judges whether a node whose NodeClaim was deleted has been replaced. Pure.
 *
 * Deleting a NodeClaim is only a request, and Karpenter makes a new node only when pods pend. So
 * it is over when claim and node are gone, no pod of the workloads that were drained pends, and
 * every node that the pool got since has its required DaemonSets Ready; or, when the other nodes
 * had room and no node came, when it has stayed quiet for a while.
 */
import { parseTime } from '../clock.ts';
import type { ClusterFacts, Detection, Gap } from '../gap/model.ts';
import { keyOf, type Node, type NodeClaim, type Pod } from '../kubernetes/objects.ts';

/** What is remembered of a replacement when it is committed. Times are epoch ms. */
export interface CommittedReplacement {
  node: string;
  nodeUid: string;
  /** Absent when nothing was deleted. */
  claim?: { name: string; uid: string };
  /** Value of the label `karpenter.sh/nodepool`. */
  pool?: string;
  committedAt: number;
  /**
   * Nodes and pods created from here on may be its consequence: the start of the drain, since
   * Karpenter makes the new node as soon as the evicted pods pend, which is before the commit.
   */
  since: number;
  /** `namespace/name` of the DaemonSets with the gap. */
  daemonSets: string[];
  /** Uids of the controllers whose pods were drained (DrainPlan.owners). */
  owners: string[];
}

export type Awaited =
  | 'fresh-read'
  | 'claim-gone'
  | 'node-gone'
  | 'pods-scheduled'
  | 'new-node'
  | 'daemonsets-ready'
  | 'quiet';

export type ReplacementVerdict =
  /** `quietSince` (epoch ms) goes into the next judgement. */
  | { kind: 'waiting'; what: Awaited; message: string; quietSince?: number }
  /** Without `newNode` the other nodes had room. */
  | { kind: 'replaced'; newNode?: string; newNodes: string[] }
  /** A new node has the same gap: the node was not at fault. */
  | { kind: 'bad-replacement'; gaps: Gap[] }
  /** Nothing was deleted, so there is nothing to verify. */
  | { kind: 'not-needed' }
  | { kind: 'timed-out'; what: Awaited; message: string };

export interface VerificationInput {
  before: CommittedReplacement;
  facts: ClusterFacts;
  /** Made from the same facts. */
  detection: Detection;
  /** Pods without a node, read with the facts. */
  unscheduledPods: Pod[];
  now: number;
  deadline: number;
  /** From the waiting verdict before, when it had one. */
  quietSince?: number;
  /** How long no pod may pend and no node come before it counts as replaced without a new node. */
  settleMs?: number;
}

const defaultSettleMs = 120_000;
const nodePoolLabel = 'karpenter.sh/nodepool';

/** Where a replacement stands. A read older than the commit, or without NodeClaims, settles nothing. */
export function judgeReplacement(input: VerificationInput): ReplacementVerdict {
  const { before, now, deadline } = input;
  if (before.claim === undefined) return { kind: 'not-needed' };
  const verdict = judgeNow(input, before.claim);
  if (verdict.kind !== 'waiting' || now < deadline) return verdict;
  const gaps = verdict.what === 'fresh-read' ? [] : sameGaps(input, newNodesOf(input));
  if (gaps.length > 0) return { kind: 'bad-replacement', gaps };
  return { kind: 'timed-out', what: verdict.what, message: verdict.message };
}

function judgeNow(
  input: VerificationInput,
  claim: { name: string; uid: string },
): ReplacementVerdict {
  const { before, facts } = input;
  if (facts.readAt < before.committedAt) {
    return { kind: 'waiting', what: 'fresh-read', message: 'the facts are older than the commit' };
  }
  if (!facts.nodeClaims.ok) {
    const message = `NodeClaims cannot be read: ${facts.nodeClaims.reason}`;
    return { kind: 'waiting', what: 'fresh-read', message };
  }
  const claims = facts.nodeClaims.items;
  const oldClaim = claims.find(({ metadata }) => metadata.uid === claim.uid);
  if (oldClaim !== undefined) {
    return { kind: 'waiting', what: 'claim-gone', message: terminationOf(oldClaim) };
  }
  if (facts.nodes.some(({ metadata }) => metadata.uid === before.nodeUid)) {
    const message = `node ${before.node} is still there`;
    return { kind: 'waiting', what: 'node-gone', message };
  }
  const newNodes = newNodesOf(input);
  const gaps = sameGaps(input, newNodes);
  if (gaps.length > 0) return { kind: 'bad-replacement', gaps };
  return (
    waitForSuccessors(input, newNodes, claims) ??
    (newNodes.length > 0 ? replacedBy(newNodes) : waitForQuiet(input))
  );
}

/** The wait that pending pods or new nodes give cause for, if one does. */
function waitForSuccessors(
  input: VerificationInput,
  newNodes: Node[],
  claims: NodeClaim[],
): ReplacementVerdict | undefined {
  const joining = claims.filter(
    (claim) => isSuccessor(claim, input.before) && !hasNode(claim, input),
  );
  if (joining.length > 0) {
    const message = `NodeClaim ${names(joining)} has no node yet`;
    return { kind: 'waiting', what: 'new-node', message };
  }
  const unready = unreadyOn(input, newNodes);
  if (unready !== undefined) {
    return { kind: 'waiting', what: 'daemonsets-ready', message: unready };
  }
  const pending = input.unscheduledPods.filter((pod) => wasDrained(pod, input.before));
  if (pending.length > 0) {
    const shown = pending.slice(0, 5).map(keyOf).join(', ');
    const message = `${pending.length} pods of drained workloads have no node: ${shown}`;
    return { kind: 'waiting', what: 'pods-scheduled', message };
  }
  return undefined;
}

function waitForQuiet(input: VerificationInput): ReplacementVerdict {
  const { now, settleMs = defaultSettleMs, quietSince = now } = input;
  if (now - quietSince >= settleMs) return { kind: 'replaced', newNodes: [] };
  const message = 'no pod pends and no new node came, which must last a while';
  return { kind: 'waiting', what: 'quiet', message, quietSince };
}

function replacedBy(newNodes: Node[]): ReplacementVerdict {
  const sorted = newNodes.map((node) => node.metadata.name).sort();
  const [newNode = ''] = sorted;
  return { kind: 'replaced', newNode, newNodes: sorted };
}

/** Nodes that the pool got since the drain began and that are not leaving again. */
function newNodesOf({ facts, before }: VerificationInput): Node[] {
  return facts.nodes.filter((node) => isSuccessor(node, before));
}

function isSuccessor(object: Node | NodeClaim, before: CommittedReplacement): boolean {
  const { uid, creationTimestamp, deletionTimestamp, labels = {} } = object.metadata;
  const createdAt = parseTime(creationTimestamp);
  return (
    uid !== before.nodeUid &&
    deletionTimestamp === undefined &&
    createdAt !== undefined &&
    // Creation times have whole seconds.
    createdAt >= Math.floor(before.since / 1000) * 1000 &&
    (before.pool === undefined || labels[nodePoolLabel] === before.pool)
  );
}

function hasNode(claim: NodeClaim, { facts }: VerificationInput): boolean {
  const { providerID = '' } = claim.status;
  return providerID !== '' && facts.nodes.some((node) => node.spec.providerID === providerID);
}

/** Gaps of the same DaemonSets on new nodes, past every grace: a new node that does no better. */
function sameGaps({ detection, before }: VerificationInput, newNodes: Node[]): Gap[] {
  const uids = new Set(newNodes.map((node) => node.metadata.uid));
  return detection.gaps.filter(
    (gap) =>
      uids.has(gap.nodeUid) &&
      before.daemonSets.includes(gap.daemonSet) &&
      gap.cause !== 'node-not-ready' &&
      gap.pastGrace &&
      gap.confirmed,
  );
}

/** What a new node still lacks, in words. */
function unreadyOn({ detection }: VerificationInput, newNodes: Node[]): string | undefined {
  const uids = new Set(newNodes.map((node) => node.metadata.uid));
  const nodeNames = new Set(newNodes.map((node) => node.metadata.name));
  const gap = detection.gaps.find((found) => found.required && uids.has(found.nodeUid));
  if (gap !== undefined) return `${gap.daemonSet} is ${gap.cause} on new node ${gap.node}`;
  const unknown = detection.unknown.find(
    (entry) => entry.node !== undefined && nodeNames.has(entry.node),
  );
  return unknown && `new node ${unknown.node}: ${unknown.message}`;
}

/** Whether the pod stands in for one that the drain took away. */
function wasDrained(pod: Pod, before: CommittedReplacement): boolean {
  const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller === true);
  const createdAt = parseTime(pod.metadata.creationTimestamp) ?? before.since;
  return (
    pod.metadata.deletionTimestamp === undefined &&
    owner !== undefined &&
    before.owners.includes(owner.uid) &&
    createdAt >= Math.floor(before.since / 1000) * 1000
  );
}

/** How far Karpenter is with a claim: its own conditions, for a person to go on from. */
function terminationOf(claim: NodeClaim): string {
  const { name, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp === undefined) return `NodeClaim ${name} is not being deleted`;
  const progress = ['Drained', 'VolumesDetached', 'InstanceTerminating'].flatMap((type) => {
    const condition = claim.status.conditions?.find((found) => found.type === type);
    if (condition === undefined) return [];
    const detail = [condition.reason, condition.message].filter(Boolean).join(': ');
    return [`${type}=${condition.status}${detail === '' ? '' : ` (${detail})`}`];
  });
  const shown = progress.length === 0 ? 'no progress shown' : progress.join(', ');
  return `NodeClaim ${name} is being deleted since ${deletionTimestamp}: ${shown}`;
}

function names(objects: { metadata: { name: string } }[]): string {
  return objects
    .map((object) => object.metadata.name)
    .sort()
    .join(', ');
}
