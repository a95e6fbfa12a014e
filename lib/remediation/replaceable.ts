import type { ReplacementConfig, ReplacementMethod } from '../config/model.ts';
import type { Node } from '../kubernetes/objects.ts';
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
    case 'fargate':
    case 'hybrid':
    case 'unknown':
      return config.other;
  }
}

/**
 * Null when nodegap can replace the node, else why it stops at isolation: a node is not drained
 * that nothing will bring back.
 */
export function irreplaceable(
  node: Node | undefined,
  claim: ClaimMatch,
  config: ReplacementConfig,
): { code: string; message: string } | null {
  if (node === undefined) return null;
  const found = claim.kind === 'found' ? claim.claim : undefined;
  const kind = nodeKindOf(node, found);
  if (methodFor(kind, config) === 'notify') {
    return {
      code: 'replaced-by-person',
      message: `nodes of kind ${kind} are replaced by a person: the node stays isolated`,
    };
  }
  return found === undefined
    ? { code: 'no-claim', message: `no NodeClaim belongs to node ${node.metadata.name}` }
    : null;
}
