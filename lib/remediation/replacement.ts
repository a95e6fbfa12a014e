import { isKubernetesError } from '../errors.ts';
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import type { ClusterReader, ClusterWriter } from '../ports.ts';

/** Who made the node, which decides how it can be replaced (kubernetes semantics §3.6). */
export type NodeKind =
  | 'karpenter'
  | 'auto-mode'
  | 'managed-node-group'
  | 'self-managed'
  | 'fargate'
  | 'hybrid'
  | 'unknown';

/** The claim that made a node, or why none can be named. */
export type ClaimMatch =
  | { kind: 'found'; claim: NodeClaim }
  | { kind: 'none' }
  /** Several claims, or one that names another node: nothing is deleted on that. */
  | { kind: 'inconsistent'; message: string };

export type ClaimDeletion =
  /** The claim is on its way out: `already` when it was before this call. */
  | { kind: 'requested'; claim: string; uid: string; already: boolean }
  /** No claim of that uid exists any more. */
  | { kind: 'gone'; claim: string; uid: string }
  /** What was read now is not what the decision was made on. */
  | { kind: 'refused'; code: 'node-gone' | 'node-recreated' | 'claim-mismatch'; message: string };

const nodePoolLabel = 'karpenter.sh/nodepool';
const computeTypeLabel = 'eks.amazonaws.com/compute-type';
const nodeGroupLabel = 'eks.amazonaws.com/nodegroup';
const autoModeGroup = 'eks.amazonaws.com';

/**
 * Id and zone of the EC2 instance behind a providerID, or undefined for anything else: Fargate and
 * hybrid nodes have ids of the same look.
 */
export function instanceOf(
  providerID: string | undefined,
): { instanceId: string; zone: string } | undefined {
  const match = /^aws:\/\/\/([a-z0-9-]+)\/(i-[0-9a-f]{8}(?:[0-9a-f]{9})?)$/.exec(providerID ?? '');
  if (match === null) return undefined;
  const [, zone = '', instanceId = ''] = match;
  return { instanceId, zone };
}

/** The kind of a node. `nodeClaim` is the claim that made it, where there is one. */
export function nodeKindOf(node: Node, nodeClaim?: NodeClaim): NodeKind {
  const { labels = {} } = node.metadata;
  const { providerID = '' } = node.spec;
  const computeType = labels[computeTypeLabel];
  if (computeType === 'fargate' || providerID.includes('/fargate-')) return 'fargate';
  if (computeType === 'hybrid' || providerID.startsWith('eks-hybrid:')) return 'hybrid';
  if (computeType === 'auto' || nodeClaim?.spec.nodeClassRef?.group === autoModeGroup) {
    return 'auto-mode';
  }
  // Any other provider of Karpenter: karpenter.k8s.aws, karpenter.kwok.sh, …
  if (nodeClaim !== undefined || labels[nodePoolLabel] !== undefined) return 'karpenter';
  if (labels[nodeGroupLabel] !== undefined) return 'managed-node-group';
  return instanceOf(providerID) === undefined ? 'unknown' : 'self-managed';
}

/**
 * The NodeClaim of a node: exactly one with the same providerID, which must not name another node,
 * nor the node another claim. An empty providerID matches nothing.
 */
export function claimOf(node: Node, claims: NodeClaim[]): ClaimMatch {
  const { providerID = '' } = node.spec;
  const { name } = node.metadata;
  if (providerID === '') return { kind: 'none' };
  const matching = claims.filter((claim) => claim.status.providerID === providerID);
  const [claim, ...more] = matching;
  if (claim === undefined) return { kind: 'none' };
  if (more.length > 0) {
    const names = matching.map((match) => match.metadata.name).sort();
    return {
      kind: 'inconsistent',
      message: `NodeClaims ${names.join(' and ')} both have the providerID ${providerID} of node ${name}`,
    };
  }
  const { nodeName } = claim.status;
  if (nodeName !== undefined && nodeName !== '' && nodeName !== name) {
    return {
      kind: 'inconsistent',
      message: `NodeClaim ${claim.metadata.name} has the providerID of node ${name} and names node ${nodeName}`,
    };
  }
  const owner = node.metadata.ownerReferences?.find((reference) => reference.kind === 'NodeClaim');
  if (owner !== undefined && owner.uid !== claim.metadata.uid) {
    return {
      kind: 'inconsistent',
      message: `node ${name} belongs to NodeClaim ${owner.name} (${owner.uid}) and has the providerID of ${claim.metadata.name} (${claim.metadata.uid})`,
    };
  }
  return { kind: 'found', claim };
}

/**
 * Asks for the deletion of the NodeClaim of a node. Claim and node are read again first, and the
 * claim is deleted with its uid as precondition. The deletion is only a request: Karpenter drains and
 * terminates, which verification.ts follows. The Node object and the instance are never deleted
 * behind Karpenter's back. Twice is the same as once. Throws KubernetesError for a failed call.
 */
export async function deleteClaim(
  client: Pick<ClusterReader, 'getNode' | 'getNodeClaim'> & Pick<ClusterWriter, 'deleteNodeClaim'>,
  { node, claim }: { node: Node; claim: NodeClaim },
): Promise<ClaimDeletion> {
  const { name, uid } = claim.metadata;
  const freshClaim = await client.getNodeClaim(name);
  if (freshClaim === undefined || freshClaim.metadata.uid !== uid) {
    return { kind: 'gone', claim: name, uid };
  }
  if (freshClaim.metadata.deletionTimestamp !== undefined) {
    return { kind: 'requested', claim: name, uid, already: true };
  }
  const freshNode = await client.getNode(node.metadata.name);
  if (freshNode === undefined) {
    const message = `node ${node.metadata.name} is gone and its NodeClaim ${name} is not`;
    return { kind: 'refused', code: 'node-gone', message };
  }
  if (
    freshNode.metadata.uid !== node.metadata.uid ||
    freshNode.spec.providerID !== node.spec.providerID
  ) {
    const message = `node ${node.metadata.name} is another one now (uid ${freshNode.metadata.uid}, providerID ${freshNode.spec.providerID ?? 'none'})`;
    return { kind: 'refused', code: 'node-recreated', message };
  }
  const match = claimOf(freshNode, [freshClaim]);
  if (match.kind !== 'found') {
    const message =
      match.kind === 'inconsistent'
        ? match.message
        : `NodeClaim ${name} no longer has the providerID of node ${node.metadata.name}`;
    return { kind: 'refused', code: 'claim-mismatch', message };
  }
  try {
    return (await client.deleteNodeClaim(name, uid))
      ? { kind: 'requested', claim: name, uid, already: false }
      : { kind: 'gone', claim: name, uid };
  } catch (error) {
    if (!isKubernetesError(error, 'conflict')) throw error;
    const successor = await client.getNodeClaim(name);
    // The precondition failed because another claim has taken the name, or else for no good reason.
    if (successor?.metadata.uid === uid) throw error;
    return { kind: 'gone', claim: name, uid };
  }
}
