/**
 * Judges whether a node whose end was asked for has been replaced. Pure.
 *
 * Deleting a NodeClaim is only a request, and Karpenter makes a new node only when pods pend. So
 * it is over when claim, node and machine are gone, no pod of the workloads that were drained
 * pends, and every node that the pool got since has its required DaemonSets Ready; or, when the
 * other nodes had room and no node came, when it has stayed quiet for a while. An Auto Scaling
 * group makes a new machine whatever pends (verification-group.ts).
 */
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import {
  isSuccessor,
  newNodesOf,
  pendingOf,
  replacedBy,
  sameGaps,
  unreadyOn,
} from './successors.ts';
import {
  hangingOn,
  heldByFinalizers,
  judgeGroupMachine,
  stillRunning,
} from './verification-group.ts';
import type { ReplacementVerdict, VerificationInput } from './verification-model.ts';

export type {
  Awaited,
  CommittedReplacement,
  MachineFate,
  ReplacementVerdict,
  VerificationInput,
} from './verification-model.ts';

const defaultSettleMs = 120_000;

/** Where a replacement stands. A read older than the commit, or without NodeClaims, settles nothing. */
export function judgeReplacement(input: VerificationInput): ReplacementVerdict {
  const { now, deadline } = input;
  const verdict = judgeNow(input);
  if (verdict.kind !== 'waiting' || now < deadline) return verdict;
  const gaps = verdict.what === 'fresh-read' ? [] : sameGaps(input, newNodesOf(input));
  if (gaps.length > 0) return { kind: 'bad-replacement', gaps };
  return { kind: 'timed-out', what: verdict.what, message: verdict.message };
}

function judgeNow(input: VerificationInput): ReplacementVerdict {
  const { before, facts } = input;
  if (before.claim === undefined && before.machine === undefined) return { kind: 'not-needed' };
  if (facts.readAt < before.committedAt) {
    return { kind: 'waiting', what: 'fresh-read', message: 'the facts are older than the commit' };
  }
  return before.claim === undefined ? judgeGroupMachine(input) : judgeClaim(input, before.claim);
}

function judgeClaim(
  input: VerificationInput,
  claim: { name: string; uid: string },
): ReplacementVerdict {
  const { before, facts } = input;
  if (!facts.nodeClaims.ok) {
    const message = `NodeClaims cannot be read: ${facts.nodeClaims.reason}`;
    return { kind: 'waiting', what: 'fresh-read', message };
  }
  const claims = facts.nodeClaims.items;
  const oldClaim = claims.find(({ metadata }) => metadata.uid === claim.uid);
  if (oldClaim !== undefined) {
    return {
      kind: 'waiting',
      what: 'claim-gone',
      message: `${terminationOf(oldClaim)}${hangingOn(input)}`,
    };
  }
  if (facts.nodes.some(({ metadata }) => metadata.uid === before.nodeUid)) {
    const message = `node ${before.node} is still there${hangingOn(input)}`;
    return { kind: 'waiting', what: 'node-gone', message };
  }
  const running = stillRunning(input);
  if (running !== undefined) return { kind: 'waiting', what: 'machine-gone', message: running };
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
  const pending = pendingOf(input);
  if (pending !== undefined) return { kind: 'waiting', what: 'pods-scheduled', message: pending };
  return undefined;
}

function waitForQuiet(input: VerificationInput): ReplacementVerdict {
  const { now, settleMs = defaultSettleMs, quietSince = now } = input;
  if (now - quietSince >= settleMs) {
    const because = 'none of its pods waits for a node: the other nodes had room';
    return { kind: 'replaced', newNodes: [], because };
  }
  const message = 'no pod pends and no new node came, which must last a while';
  return { kind: 'waiting', what: 'quiet', message, quietSince };
}

function hasNode(claim: NodeClaim, { facts }: VerificationInput): boolean {
  const { providerID = '' } = claim.status;
  return providerID !== '' && facts.nodes.some((node) => node.spec.providerID === providerID);
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
  const held = heldByFinalizers('NodeClaim', claim.metadata).map((part) => `; ${part}`);
  return `NodeClaim ${name} is being deleted since ${deletionTimestamp}: ${shown}${held.join('')}`;
}

function names(objects: { metadata: { name: string } }[]): string {
  return objects
    .map((object) => object.metadata.name)
    .sort()
    .join(', ');
}
