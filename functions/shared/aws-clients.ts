import { createEksAccess } from '../../lib/aws/eks-connect.ts';
import { connectEksWriter } from '../../lib/aws/eks-connect-writer.ts';
import type { CorePorts } from './aws-ports.ts';
import type { Ports } from './ports.ts';

/** The port of functions that change clusters. */
export function clients({ environment, clusterOf }: CorePorts): Ports['clients'] {
  const access = createEksAccess(environment.AWS_REGION);
  return { connect: async (name) => connectEksWriter(await clusterOf(name), access) };
}
