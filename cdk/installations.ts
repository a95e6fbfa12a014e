/** Which stacks a configuration asks for: one per AWS account and region. */
import type {
  ClusterConfig,
  Config,
  NetworkConfig,
  ReplacementConfig,
} from '../lib/config/model.ts';

/** The network of clusters whose endpoint is public: their functions stay outside VPCs. */
export const publicNetwork = 'public';

/** The clusters of one installation that are reached in the same way. */
export interface ClusterNetwork {
  /** `public`, or the name of the private network. */
  name: string;
  /** Undefined for `public`. */
  vpc: NetworkConfig | undefined;
  clusters: ClusterConfig[];
  /** The groups whose machines the configuration has ended. */
  ends: { managedNodeGroups: boolean; selfManagedGroups: boolean };
}

/** What one stack looks after. */
export interface Installation {
  /** Undefined means the account that is deployed to. */
  account: string | undefined;
  region: string;
  networks: ClusterNetwork[];
}

/**
 * Groups the clusters of `config` by account and region, and within those by network.
 * `deployingAccount` (CDK's CDK_DEFAULT_ACCOUNT, when known) is the account of the clusters that
 * name none, so that one that names it and one that does not share a stack.
 */
export function installations(config: Config, deployingAccount?: string): Installation[] {
  const byPlace = new Map<string, Installation>();
  for (const cluster of config.clusters) {
    const account = cluster.account ?? deployingAccount;
    const place = `${account ?? ''}/${cluster.region}`;
    const installation = byPlace.get(place) ?? { account, region: cluster.region, networks: [] };
    byPlace.set(place, installation);
    addCluster(installation, cluster, config);
  }
  return [...byPlace.values()];
}

function addCluster(
  installation: Installation,
  cluster: ClusterConfig,
  { networks, replacement }: Pick<Config, 'networks' | 'replacement'>,
): void {
  const known = installation.networks.find(({ name }) => name === cluster.network);
  if (known !== undefined) {
    known.clusters.push(cluster);
    return;
  }
  installation.networks.push({
    name: cluster.network,
    vpc: networks.find(({ name }) => name === cluster.network),
    clusters: [cluster],
    ends: endsOf(replacement),
  });
}

function endsOf({ managedNodeGroup, autoScalingGroup }: ReplacementConfig): ClusterNetwork['ends'] {
  return {
    managedNodeGroups: managedNodeGroup === 'terminate-instance',
    selfManagedGroups: autoScalingGroup === 'terminate-instance',
  };
}
