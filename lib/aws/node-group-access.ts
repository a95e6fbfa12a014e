/** Node groups under the SDK's default credentials, for the command line. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EKSClient } from '@aws-sdk/client-eks';
import { systemClock } from '../clock.ts';
import type { NodeGroupReads } from '../prevention/sources/node-groups.ts';
import { createEc2Query } from './ec2-query.ts';
import { createNodeGroupReads, nodeGroupTimeoutMs } from './node-group-reads.ts';

export function nodeGroupReadsOf(region: string): NodeGroupReads {
  const eks = new EKSClient({ region });
  const ec2 = createEc2Query({
    region,
    credentials: () => eks.config.credentials(),
    clock: systemClock,
    pacing: { random: Math.random, sleep: async (ms) => void (await sleep(ms)) },
    timeoutMs: nodeGroupTimeoutMs,
    endpoint: process.env.AWS_ENDPOINT_URL_EC2 ?? process.env.AWS_ENDPOINT_URL,
  });
  return createNodeGroupReads(eks, ec2);
}
