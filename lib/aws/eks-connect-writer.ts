/** Opens EKS clusters for reading and writing. Brings client-node with it. */
import { type Clock, systemClock } from '../clock.ts';
import { createReader } from '../kubernetes/reader.ts';
import { createWriter } from '../kubernetes/writer.ts';
import type { ClusterReader, ClusterWriter } from '../ports.ts';
import type { EksAccess } from './eks-connect.ts';
import type { EksClusterId } from './eks-token.ts';

/** Reader and writer of the cluster over one transport. `clock` dates the Events. */
export async function connectEksWriter(
  cluster: EksClusterId,
  access: EksAccess,
  clock: Clock = systemClock,
): Promise<ClusterReader & ClusterWriter> {
  const transport = await access.transportOf(cluster);
  return { ...createReader(transport), ...createWriter(transport, clock) };
}
