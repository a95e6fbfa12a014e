/** The right to see how the nodes of a cluster are launched. */
import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { ClusterNetwork } from '../installations.ts';
import { acknowledgeWildcard } from '../nag.ts';

export function letReadNodeGroups(role: Role, { clusters }: ClusterNetwork): void {
  for (const { name } of clusters) {
    const arn = (resource: string, resourceName: string) =>
      Stack.of(role).formatArn({ service: 'eks', resource, resourceName });
    const groups = arn('nodegroup', `${name}/*/*`);
    role.addToPolicy(
      new PolicyStatement({ actions: ['eks:ListNodegroups'], resources: [arn('cluster', name)] }),
    );
    role.addToPolicy(
      new PolicyStatement({ actions: ['eks:DescribeNodegroup'], resources: [groups] }),
    );
    acknowledgeWildcard(role, groups, 'The node groups of one cluster: they come and go.');
  }
  role.addToPolicy(
    new PolicyStatement({ actions: ['ec2:DescribeLaunchTemplateVersions'], resources: ['*'] }),
  );
  acknowledgeWildcard(
    role,
    '*',
    'DescribeLaunchTemplateVersions has no resource-level permission.',
  );
}
