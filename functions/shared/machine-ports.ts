/** The ports to the machines behind nodes, bound to AWS. An installation is of one region. */
import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { createEc2Query } from '../../lib/aws/ec2-query.ts';
import { AutoScalingTerminator } from '../../lib/aws/machine-terminator.ts';
import { AwsMachines } from '../../lib/aws/machines.ts';
import type { Machines, MachineTerminator } from '../../lib/machines.ts';
import type { CorePorts } from './aws-ports.ts';

export function machines({ environment, clock, random, sleep }: CorePorts): Machines {
  const region = environment.AWS_REGION;
  const eks = new EKSClient({ region });
  return new AwsMachines({
    eks,
    autoScaling: new AutoScalingClient({ region }),
    ec2: createEc2Query({
      region,
      credentials: () => eks.config.credentials(),
      clock,
      pacing: { random, sleep },
      endpoint: process.env.AWS_ENDPOINT_URL_EC2 ?? process.env.AWS_ENDPOINT_URL,
    }),
  });
}

export function terminator({ environment }: CorePorts): MachineTerminator {
  return new AutoScalingTerminator(new AutoScalingClient({ region: environment.AWS_REGION }));
}
