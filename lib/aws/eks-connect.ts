/**
 * Opens EKS clusters for reading. Imports neither client-node nor undici, so that the scan function
 * stays small; writing is in eks-connect-writer.ts.
 */
import { EKSClient } from '@aws-sdk/client-eks';
import { type Clock, systemClock } from '../clock.ts';
import { createReader } from '../kubernetes/reader.ts';
import { createTransport, type Transport } from '../kubernetes/transport.ts';
import type { ClusterReader } from '../ports.ts';
import { createEksClusters, type EksClusterRecord, type EksClusters } from './eks-cluster.ts';
import { createEksTokens, type EksClusterId, type EksTokens } from './eks-token.ts';

/** What connecting rests on. Made once per process: it holds the caches and the connections. */
export interface EksAccess {
  /** The transport of a cluster, kept until its endpoint or authority changes. */
  transportOf(cluster: EksClusterId): Promise<Transport>;
  /** @throws NodegapError when the cluster cannot be described. */
  recordOf(cluster: EksClusterId): Promise<EksClusterRecord>;
}

export interface EksAccessParts {
  clusters: EksClusters;
  tokens: EksTokens;
  userAgent?: string;
}

/** Access with the SDK's default credentials. The signer shares those of the EKS client. */
export function createEksAccess(region: string, clock: Clock = systemClock): EksAccess {
  const client = new EKSClient({ region });
  return eksAccessOf({
    clusters: createEksClusters(clock, (other) =>
      other === region ? client : new EKSClient({ region: other }),
    ),
    tokens: createEksTokens(() => client.config.credentials(), clock),
  });
}

/** Access from given parts. */
export function eksAccessOf(parts: EksAccessParts): EksAccess {
  const open = new Map<string, { record: EksClusterRecord; transport: Transport }>();
  return {
    recordOf: (cluster) => parts.clusters.recordOf(cluster),
    async transportOf(cluster) {
      const key = `${cluster.region}/${cluster.name}`;
      const record = await parts.clusters.recordOf(cluster);
      const known = open.get(key);
      if (known !== undefined && sameServer(known.record, record)) return known.transport;
      known?.transport.close();
      const transport = transportTo(cluster, record, parts);
      open.set(key, { record, transport });
      return transport;
    },
  };
}

/** A reader of the cluster. Nothing is asked of the cluster itself yet. */
export async function connectEks(cluster: EksClusterId, access: EksAccess): Promise<ClusterReader> {
  return createReader(await access.transportOf(cluster));
}

function transportTo(
  cluster: EksClusterId,
  record: EksClusterRecord,
  { clusters, tokens, userAgent }: EksAccessParts,
): Transport {
  return createTransport({
    server: record.endpoint,
    tls: { ca: record.certificateAuthority },
    ...(userAgent === undefined ? {} : { userAgent }),
    async authorize(headers) {
      headers.authorization = `Bearer ${await tokens.tokenFor(cluster)}`;
    },
    invalidate: () => tokens.drop(cluster),
    onUnreachable({ reason }) {
      // The cluster may have been made anew under the same name, elsewhere and with other keys.
      if (reason === 'dns' || reason === 'tls') clusters.drop(cluster);
    },
  });
}

function sameServer(a: EksClusterRecord, b: EksClusterRecord): boolean {
  return a.endpoint === b.endpoint && a.certificateAuthority === b.certificateAuthority;
}
