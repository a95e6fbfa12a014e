import type { ClusterConfig } from './model.ts';

/**
 * The ARN of a configured cluster. `installation` is `account/region/stack`, whose account holds
 * for a cluster that names none.
 */
export function clusterArn(cluster: ClusterConfig, installation: string): string {
  const account = cluster.account ?? installation.split('/')[0] ?? '';
  const partition = cluster.region.startsWith('cn-')
    ? 'aws-cn'
    : cluster.region.startsWith('us-gov-')
      ? 'aws-us-gov'
      : 'aws';
  return `arn:${partition}:eks:${cluster.region}:${account}:cluster/${cluster.name}`;
}

/** Whether a cluster lies in the account and region of an installation (`account/region/stack`). */
export function belongsTo(cluster: ClusterConfig, installation: string): boolean {
  const [account, region] = installation.split('/');
  return cluster.region === region && (cluster.account ?? account) === account;
}
