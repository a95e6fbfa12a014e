/** Whether EKS repairs the nodes of a managed node group, which no object in the cluster shows. */
import { DescribeNodegroupCommand, type EKSClient } from '@aws-sdk/client-eks';
import { messageOf, NodegapError } from '../errors.ts';
import type { NodeGroupRepairs } from '../observation-ports.ts';

/** Asks every time: the answer decides whether a node is acted on. */
export function createNodeGroupRepairs(client: EKSClient): NodeGroupRepairs {
  return {
    async repairOf(cluster, nodeGroup) {
      const answer = await client
        .send(new DescribeNodegroupCommand({ clusterName: cluster, nodegroupName: nodeGroup }))
        .catch((cause: unknown) => {
          const what = `node group ${nodeGroup} of cluster ${cluster} could not be described`;
          throw new NodegapError('Eks.failed', `${what}: ${messageOf(cause)}`, { cause });
        });
      if (answer.nodegroup === undefined) {
        const message = `EKS says nothing of node group ${nodeGroup} of cluster ${cluster}`;
        throw new NodegapError('Eks.failed', message);
      }
      // Off by default: https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html
      return answer.nodegroup.nodeRepairConfig?.enabled === true ? 'on' : 'off';
    },
  };
}
