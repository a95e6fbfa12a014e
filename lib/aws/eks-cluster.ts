/** The record of an EKS cluster: where it is and whom to trust there. */
import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import type { Clock } from '../clock.ts';
import { messageOf, NodegapError } from '../errors.ts';
import type { EksClusterId } from './eks-token.ts';

export interface EksClusterRecord {
  name: string;
  arn: string;
  endpoint: string;
  /** PEM. The cluster's own authority: the public ones do not know it. */
  certificateAuthority: string;
  /** `API`, `API_AND_CONFIG_MAP` or `CONFIG_MAP`; only the first two know access entries. */
  authenticationMode: string | undefined;
}

export interface EksClusters {
  /** @throws NodegapError `Eks.not-found`, `Eks.denied`, `Eks.not-ready` or `Eks.failed`. */
  recordOf(cluster: EksClusterId): Promise<EksClusterRecord>;
  /** Forgets the record, for example when its endpoint no longer resolves. */
  drop(cluster: EksClusterId): void;
}

const maxAgeMs = 10 * 60_000;

/**
 * Cluster records by DescribeCluster, each kept for ten minutes.
 * @param clientFor the EKS client of a region; called once per region.
 */
export function createEksClusters(
  clock: Clock,
  clientFor: (region: string) => EKSClient = (region) => new EKSClient({ region }),
): EksClusters {
  const clients = new Map<string, EKSClient>();
  const cache = new Map<string, { record: EksClusterRecord; readAt: number }>();

  function client(region: string): EKSClient {
    const known = clients.get(region) ?? clientFor(region);
    clients.set(region, known);
    return known;
  }

  return {
    async recordOf(cluster) {
      const key = `${cluster.region}/${cluster.name}`;
      const cached = cache.get(key);
      if (cached !== undefined && clock.now() < cached.readAt + maxAgeMs) return cached.record;
      const readAt = clock.now();
      const record = await describe(client(cluster.region), cluster);
      cache.set(key, { record, readAt });
      return record;
    },
    drop(cluster) {
      cache.delete(`${cluster.region}/${cluster.name}`);
    },
  };
}

async function describe(client: EKSClient, cluster: EksClusterId): Promise<EksClusterRecord> {
  const answer = await client
    .send(new DescribeClusterCommand({ name: cluster.name }))
    .catch((cause: unknown) => {
      throw describeFailure(cluster, cause);
    });
  const { arn, endpoint, certificateAuthority, accessConfig, status } = answer.cluster ?? {};
  if (!arn || !endpoint || !certificateAuthority?.data) {
    throw new NodegapError(
      'Eks.not-ready',
      `cluster ${cluster.name} in ${cluster.region} has no endpoint (status ${status ?? 'unknown'})`,
      { hint: 'wait until it is active, or take it out of the configuration' },
    );
  }
  return {
    name: cluster.name,
    arn,
    endpoint,
    certificateAuthority: Buffer.from(certificateAuthority.data, 'base64').toString('utf8'),
    authenticationMode: accessConfig?.authenticationMode,
  };
}

function describeFailure(cluster: EksClusterId, cause: unknown): NodegapError {
  const where = `cluster ${cluster.name} in ${cluster.region}`;
  const name = cause instanceof Error ? cause.name : '';
  if (name === 'ResourceNotFoundException') {
    return new NodegapError('Eks.not-found', `there is no EKS ${where}`, {
      cause,
      hint: 'check name, region and account in the configuration',
    });
  }
  if (name === 'AccessDeniedException') {
    return new NodegapError('Eks.denied', `not allowed to describe ${where}: ${messageOf(cause)}`, {
      cause,
      hint: 'the role needs eks:DescribeCluster on this cluster',
    });
  }
  return new NodegapError('Eks.failed', `${where} could not be described: ${messageOf(cause)}`, {
    cause,
  });
}
