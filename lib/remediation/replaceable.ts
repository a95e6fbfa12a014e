import type { ReplacementConfig, ReplacementMethod } from '../config/model.ts';
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import { type ClaimMatch, type NodeKind, nodeKindOf } from './replacement.ts';

/** How the configuration has nodes of that kind replaced. */
export function methodFor(kind: NodeKind, config: ReplacementConfig): ReplacementMethod {
  switch (kind) {
    case 'karpenter':
      return config.karpenter;
    case 'auto-mode':
      return config.autoMode;
    case 'managed-node-group':
      return config.managedNodeGroup;
    case 'self-managed':
      return config.autoScalingGroup;
    case 'fargate':
    case 'hybrid':
    case 'unknown':
      return config.other;
  }
}

/** Why nodes of that kind are not even isolated, or undefined when they are. */
export function deferral(
  node: Node,
  claim: NodeClaim | undefined,
  config: ReplacementConfig,
): { code: string; message: string } | undefined {
  const kind = nodeKindOf(node, claim);
  if (methodFor(kind, config) !== 'defer') return undefined;
  const message = `nodes of kind ${kind} are left to the node repair of EKS`;
  return { code: 'auto-mode-deferred', message };
}

/**
 * Null when nodegap can replace the node as far as the cluster shows, else why it stops at
 * isolation: a node is not drained that nothing will bring back.
 */
export function irreplaceable(
  node: Node | undefined,
  claim: ClaimMatch,
  config: ReplacementConfig,
): { code: string; message: string } | null {
  if (node === undefined) return null;
  const found = claim.kind === 'found' ? claim.claim : undefined;
  const kind = nodeKindOf(node, found);
  switch (methodFor(kind, config)) {
    case 'notify':
      return {
        code: 'replaced-by-person',
        message: `nodes of kind ${kind} are replaced by a person: the node stays isolated`,
      };
    case 'defer':
      return deferral(node, found, config) ?? null;
    case 'terminate-instance':
      return null;
    case 'delete-nodeclaim':
      return found === undefined
        ? { code: 'no-claim', message: `no NodeClaim belongs to node ${node.metadata.name}` }
        : null;
  }
}
