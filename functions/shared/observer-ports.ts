/** The ports by which others are asked about nodes, bound to AWS: for every function that judges. */
import { EKSClient } from '@aws-sdk/client-eks';
import { createEc2Query } from '../../lib/aws/ec2-query.ts';
import { createInstanceStatuses } from '../../lib/aws/instance-status.ts';
import { createNodeGroupRepairs } from '../../lib/aws/node-group-repair.ts';
import type { InstanceStatuses, NodeGroupRepairs } from '../../lib/observation-ports.ts';
import type { CorePorts } from './aws-ports.ts';

/** An installation has the clusters of its own region only. */
function instances({ environment, clock, random, sleep }: CorePorts): InstanceStatuses {
  const region = environment.AWS_REGION;
  const { config } = new EKSClient({ region });
  return createInstanceStatuses(
    createEc2Query({
      region,
      credentials: () => config.credentials(),
      clock,
      pacing: { random, sleep },
      endpoint: process.env.AWS_ENDPOINT_URL_EC2 ?? process.env.AWS_ENDPOINT_URL,
    }),
  );
}

function nodeGroupRepairs({ environment }: CorePorts): NodeGroupRepairs {
  return createNodeGroupRepairs(new EKSClient({ region: environment.AWS_REGION }));
}

export const observers = { instances, nodeGroupRepairs };
