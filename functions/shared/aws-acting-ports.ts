import { connectEksWriter } from '../../lib/aws/eks-connect-writer.ts';
import { bindAws } from './aws-ports.ts';
import type { Ports } from './ports.ts';

/** The ports bound to AWS, for functions that change clusters. */
export function actingPorts(): Ports {
  const { ports, access, clusterOf } = bindAws();
  return {
    ...ports,
    clients: { connect: async (name) => connectEksWriter(await clusterOf(name), access) },
  };
}
