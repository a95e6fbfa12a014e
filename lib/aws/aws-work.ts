import {
  DescribeClusterCommand,
  DescribeNodegroupCommand,
  type EKSClient,
  ResourceNotFoundException,
} from '@aws-sdk/client-eks';
import type { AwsWork, ZonalShift } from '../aws-work.ts';
import { messageOf, NodegapError } from '../errors.ts';
import type { EksClusterId } from './eks-token.ts';

/** What asking rests on, by region. */
export interface AwsWorkParts {
  /** The region and name of a configured cluster. */
  clusterOf(name: string): Promise<EksClusterId>;
  eksIn(region: string): Pick<EKSClient, 'send'>;
  zonalShiftsIn(region: string): () => Promise<ZonalShift[]>;
}

/** Asks EKS and ARC. Not cached: what was true a minute ago allows nothing. */
export function createAwsWork({ clusterOf, eksIn, zonalShiftsIn }: AwsWorkParts): AwsWork {
  return {
    async zonalShifts(cluster) {
      const { region } = await clusterOf(cluster);
      return zonalShiftsIn(region)();
    },
    async clusterStatus(name) {
      const { region } = await clusterOf(name);
      const { cluster } = await eksIn(region)
        .send(new DescribeClusterCommand({ name }))
        .catch((cause: unknown) => {
          throw failed(`cluster ${name}`, messageOf(cause), cause);
        });
      const { arn, status } = cluster ?? {};
      if (!arn || !status) throw failed(`cluster ${name}`, 'EKS says nothing of it');
      return { arn, status };
    },
    async nodeGroupStatus(cluster, nodeGroup) {
      const { region } = await clusterOf(cluster);
      const what = `node group ${nodeGroup} of cluster ${cluster}`;
      try {
        const { nodegroup } = await eksIn(region).send(
          new DescribeNodegroupCommand({ clusterName: cluster, nodegroupName: nodeGroup }),
        );
        if (!nodegroup?.status) throw failed(what, 'EKS says nothing of it');
        return nodegroup.status;
      } catch (error) {
        if (error instanceof ResourceNotFoundException) return undefined;
        if (error instanceof NodegapError) throw error;
        throw failed(what, messageOf(error), error);
      }
    },
  };
}

function failed(what: string, why: string, cause?: unknown): NodegapError {
  return new NodegapError(
    'Eks.failed',
    `${what} could not be described: ${why}`,
    cause === undefined ? {} : { cause },
  );
}
