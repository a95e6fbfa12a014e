/** The ports of the daily audit, bound to AWS. */
import { EKSClient } from '@aws-sdk/client-eks';
import { createEc2Query } from '../../lib/aws/ec2-query.ts';
import { createEksAccess } from '../../lib/aws/eks-connect.ts';
import { createNodeGroupReads, nodeGroupTimeoutMs } from '../../lib/aws/node-group-reads.ts';
import { createPlainReads, type PlainReads } from '../../lib/kubernetes/plain-reads.ts';
import type { Clusters } from '../../lib/ports.ts';
import type { NodeGroupReads } from '../../lib/prevention/sources/node-groups.ts';
import type { CorePorts } from './aws-ports.ts';

export function auditReads({ environment, clusterOf }: CorePorts): Clusters<PlainReads> {
  const access = createEksAccess(environment.AWS_REGION);
  return {
    connect: async (name) => createPlainReads(await access.transportOf(await clusterOf(name))),
  };
}

/** An installation has the clusters of its own region only. */
export function nodeGroups({ environment, clock, random, sleep }: CorePorts): NodeGroupReads {
  const region = environment.AWS_REGION;
  const eks = new EKSClient({ region });
  const ec2 = createEc2Query({
    region,
    credentials: () => eks.config.credentials(),
    clock,
    pacing: { random, sleep },
    timeoutMs: nodeGroupTimeoutMs,
    endpoint: process.env.AWS_ENDPOINT_URL_EC2 ?? process.env.AWS_ENDPOINT_URL,
  });
  return createNodeGroupReads(eks, ec2);
}
