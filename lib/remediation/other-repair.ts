/**
 * Who else repairs a node that is not Ready (docs/configuration.md). No object of the cluster shows
 * it: Karpenter's is a feature gate of its process, EKS's a setting of the node group, and that of
 * Auto Mode is always on.
 */
import type { ClusterConfig } from '../config/model.ts';
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import { nodeKindOf } from './replacement.ts';

export interface LeftTo {
  code: 'left-to-karpenter' | 'left-to-eks' | 'left-to-auto-mode' | 'eks-repair-unreadable';
  message: string;
}

/** What EKS says of the node repair of a managed node group. */
export type GroupRepair = { kind: 'on' | 'off' } | { kind: 'unread'; reason: string };

/** The managed node group whose repair has to be asked for, or undefined. */
export function managedNodeGroupOf(node: Node, claim: NodeClaim | undefined): string | undefined {
  return nodeKindOf(node, claim) === 'managed-node-group'
    ? node.metadata.labels?.['eks.amazonaws.com/nodegroup']
    : undefined;
}

/** To whom a node that is not Ready is left, or undefined when nobody else repairs it. */
export function leftTo(
  node: Node,
  claim: NodeClaim | undefined,
  cluster: ClusterConfig,
  groupRepair: GroupRepair | undefined,
): LeftTo | undefined {
  const { name } = node.metadata;
  switch (nodeKindOf(node, claim)) {
    case 'auto-mode':
      return {
        code: 'left-to-auto-mode',
        message: `node ${name} is not Ready, and EKS Auto Mode repairs its nodes itself`,
      };
    case 'karpenter':
      return cluster.karpenterNodeRepair === 'off'
        ? undefined
        : {
            code: 'left-to-karpenter',
            message: `node ${name} is not Ready, and is left to Karpenter's node repair; where that is not on, write karpenterNodeRepair: off for cluster ${cluster.name}`,
          };
    case 'managed-node-group':
      return leftToEks(name, groupRepair);
    default:
      return undefined;
  }
}

function leftToEks(node: string, repair: GroupRepair | undefined): LeftTo | undefined {
  if (repair?.kind === 'off') return undefined;
  if (repair?.kind === 'on') {
    return {
      code: 'left-to-eks',
      message: `node ${node} is not Ready, and the node auto repair of its managed node group is on`,
    };
  }
  const why = repair?.kind === 'unread' ? repair.reason : 'nothing here asks EKS';
  return {
    code: 'eks-repair-unreadable',
    message: `node ${node} is not Ready, and whether EKS repairs it could not be read, so it is taken to: ${why}`,
  };
}
