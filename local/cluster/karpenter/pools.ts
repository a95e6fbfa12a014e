/** The node pools of a scenario. Those of Karpenter are NodePool objects too. */
import type { PoolShape } from '../nodes.ts';
import type { NodePool } from '../resources.ts';
import type { World } from '../world.ts';

export interface Pool extends PoolShape {
  /** A static pool (NodePool spec.replicas): so many nodes, whatever is pending. */
  staticNodes: number | undefined;
  /** False while EC2 has no instances to give. */
  hasCapacity: boolean;
  nodePool: NodePool | undefined;
}

export const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

export function createNodePool(world: World, shape: PoolShape): NodePool {
  return world.store.create('nodepools', {
    metadata: { name: shape.name },
    spec: {
      template: {
        metadata: { labels: shape.labels },
        spec: {
          nodeClassRef,
          ...(shape.taints.length === 0 ? {} : { taints: shape.taints }),
          ...(shape.startupTaints.length === 0 ? {} : { startupTaints: shape.startupTaints }),
        },
      },
    },
    status: {},
  });
}
