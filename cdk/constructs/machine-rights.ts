/** What a function may ask of the machines behind nodes, and which of them it may end. */
import { ArnFormat, Stack } from 'aws-cdk-lib';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { MachineAccess } from '../functions.ts';
import type { ClusterNetwork } from '../installations.ts';
import { acknowledgeWildcard } from '../nag.ts';

/** These know no resource. */
const reads = [
  'autoscaling:DescribeAutoScalingGroups',
  'autoscaling:DescribeAutoScalingInstances',
  'ec2:DescribeInstances',
];

export function grantMachines(role: Role, access: MachineAccess, network: ClusterNetwork): void {
  const actions = access === 'fate' ? reads : [...reads, 'autoscaling:DescribeInstanceRefreshes'];
  role.addToPolicy(new PolicyStatement({ actions, resources: ['*'] }));
  acknowledgeWildcard(
    role,
    '*',
    'Descriptions of instances and Auto Scaling groups have no resource-level permission.',
  );
  if (access !== 'fate') letReadNodeGroups(role, network);
  if (access === 'end') letEnd(role, network);
}

function letReadNodeGroups(role: Role, { clusters }: ClusterNetwork): void {
  for (const { name } of clusters) {
    const resource = Stack.of(role).formatArn({
      service: 'eks',
      resource: 'nodegroup',
      resourceName: `${name}/*/*`,
    });
    role.addToPolicy(
      new PolicyStatement({ actions: ['eks:DescribeNodegroup'], resources: [resource] }),
    );
    acknowledgeWildcard(role, resource, 'The node groups of one cluster: they come and go.');
  }
}

/**
 * Only where the configuration ends machines of that kind, and only in groups that bear the tag of
 * a cluster of this network. Groups have names and ids of others, so the tag is what limits it.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2autoscaling.html
 */
function letEnd(role: Role, { clusters, ends }: ClusterNetwork): void {
  const groups = Stack.of(role).formatArn({
    service: 'autoscaling',
    resource: 'autoScalingGroup',
    resourceName: '*:autoScalingGroupName/*',
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  const names = clusters.map(({ name }) => name);
  const tags: Record<string, string[]>[] = [
    ...(ends.managedNodeGroups ? [{ 'aws:ResourceTag/eks:cluster-name': names }] : []),
    ...(ends.selfManagedGroups
      ? names.map((name) => ({
          [`aws:ResourceTag/kubernetes.io/cluster/${name}`]: ['owned', 'shared'],
        }))
      : []),
  ];
  for (const StringEquals of tags) {
    role.addToPolicy(
      new PolicyStatement({
        actions: ['autoscaling:TerminateInstanceInAutoScalingGroup'],
        resources: [groups],
        conditions: { StringEquals },
      }),
    );
  }
  if (tags.length === 0) return;
  acknowledgeWildcard(
    role,
    groups,
    'The Auto Scaling groups that bear the tag of a cluster of this network: they come and go.',
  );
}
