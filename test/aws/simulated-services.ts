/**
 * What EC2, Auto Scaling, EKS and ARC say of the simulated cluster, in the formats of their APIs:
 * moto knows nothing of its machines. The shapes are those of the API references.
 */
import type { GroupMember, ScalingGroup } from '../../lib/machines.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import type { RecordedCall } from './call-recorder.ts';

export type Reply = { json: unknown } | { xml: string } | { status: number; json: unknown };
export type Answers = Record<string, (call: RecordedCall) => Promise<Reply>>;

/** `describeCluster` is the answer of EKS to just that. */
export function simulatedServices(cluster: SimulatedCluster, describeCluster: unknown): Answers {
  const { autoScaling, instanceStatuses } = cluster;
  return {
    'eks:DescribeCluster': async () => ({ json: describeCluster }),
    'eks:ListNodegroups': async () => ({
      json: {
        nodegroups: [
          ...new Set(
            cluster
              .list('nodes')
              .flatMap(({ metadata }) => metadata.labels?.['eks.amazonaws.com/nodegroup'] ?? []),
          ),
        ],
      },
    }),
    'eks:DescribeNodegroup': async ({ path }) => {
      const [, , name = '', , group = ''] = path.split('/').map(decodeURIComponent);
      const found = await autoScaling.nodeGroup(name, group);
      if (found === undefined) {
        return { status: 404, json: { __type: 'ResourceNotFoundException', message: 'none' } };
      }
      const { status, issues, scalingGroups } = found;
      return {
        json: {
          nodegroup: {
            nodegroupName: group,
            status,
            health: { issues: issues.map((code) => ({ code })) },
            resources: { autoScalingGroups: scalingGroups.map((each) => ({ name: each })) },
            taints: [{ key: foreignTaint, effect: 'NO_SCHEDULE' }],
            launchTemplate: { id: 'lt-1', name: 'general', version: '7' },
          },
        },
      };
    },
    'arc-zonal-shift:ListZonalShifts': async () => ({ json: { items: [] } }),
    'arc-zonal-shift:ListAutoshifts': async () => ({ json: { items: [] } }),
    'ec2:DescribeInstances': async (call) => {
      const machine = await autoScaling.machine(parametersOf(call).get('InstanceId.1') ?? '');
      if (machine === undefined) return { xml: '<DescribeInstancesResponse/>' };
      const { id, state, zone, launchedAt, tags } = machine;
      return ec2Reply(
        'DescribeInstances',
        set('reservationSet', [
          set('instancesSet', [
            fields({
              instanceId: id,
              instanceState: fields({ name: state }),
              launchTime: new Date(launchedAt).toISOString(),
              placement: fields({ availabilityZone: zone }),
            }) +
              set(
                'tagSet',
                Object.entries(tags).map(([key, value]) => fields({ key, value })),
              ),
          ]),
        ]),
      );
    },
    'ec2:DescribeInstanceStatus': async (call) => {
      const ids = [...parametersOf(call)].flatMap(([key, id]) =>
        key.startsWith('InstanceId.') ? [id] : [],
      );
      const readings = await instanceStatuses.statusOf(ids);
      const items = ids.flatMap((instanceId) => {
        const reading = readings.get(instanceId);
        if (reading === undefined || reading.kind === 'absent') return [];
        const state = reading.kind === 'not-running' ? reading.state : 'running';
        const check = { ok: 'ok', impaired: 'impaired' }[reading.kind as string] ?? 'initializing';
        const status = fields({ status: check });
        return [
          fields({
            instanceId,
            instanceState: fields({ name: state }),
            systemStatus: fields({ status: 'ok' }),
            instanceStatus: status,
          }),
        ];
      });
      return ec2Reply('DescribeInstanceStatus', set('instanceStatusSet', items));
    },
    'ec2:DescribeLaunchTemplateVersions': async (call) => {
      const parameters = parametersOf(call);
      const newest = parameters.get('LaunchTemplateVersion.1') === '$Latest';
      const template = (id: string, version: string, userData: string) =>
        fields({ launchTemplateId: id, launchTemplateName: id, versionNumber: version }) +
        `<launchTemplateData>${fields({ userData: btoa(userData) })}</launchTemplateData>`;
      return ec2Reply(
        'DescribeLaunchTemplateVersions',
        set('launchTemplateVersionSet', [
          template(newest ? 'lt-2' : 'lt-1', newest ? '3' : '7', secretUserData),
        ]),
      );
    },
    'autoscaling:DescribeAutoScalingInstances': async (call) => {
      const found = await autoScaling.memberOf(
        parametersOf(call).get('InstanceIds.member.1') ?? '',
      );
      const members = found === undefined ? [] : [member(found.member, found.group)];
      return queryReply('DescribeAutoScalingInstances', list('AutoScalingInstances', members));
    },
    'autoscaling:DescribeAutoScalingGroups': async (call) => {
      const group = await autoScaling.group(
        parametersOf(call).get('AutoScalingGroupNames.member.1') ?? '',
      );
      const groups = group === undefined ? [] : [scalingGroup(group)];
      return queryReply('DescribeAutoScalingGroups', list('AutoScalingGroups', groups));
    },
    'autoscaling:DescribeInstanceRefreshes': async (call) => {
      const status = await autoScaling.refreshOf(
        parametersOf(call).get('AutoScalingGroupName') ?? '',
      );
      const refreshes = status === undefined ? [] : [fields({ Status: status })];
      return queryReply('DescribeInstanceRefreshes', list('InstanceRefreshes', refreshes));
    },
    'autoscaling:TerminateInstanceInAutoScalingGroup': async (call) => {
      await autoScaling.terminate(parametersOf(call).get('InstanceId') ?? '');
      return queryReply('TerminateInstanceInAutoScalingGroup', '');
    },
  };
}

/** A taint of the node groups that nothing here tolerates by name. */
const foreignTaint = 'example.com/special';

export const secretOfUserData = 'pa55-of-the-proxy';

/** What a node of the cluster `prod` boots with. */
const secretUserData = `#!/bin/bash
export PROXY_PASSWORD=${secretOfUserData}
/etc/eks/bootstrap.sh prod --kubelet-extra-args '--register-with-taints=nodegap.dev/startup-nobody=:NoExecute'
`;

function parametersOf({ body }: RecordedCall): URLSearchParams {
  return new URLSearchParams(body);
}

function ec2Reply(operation: string, content: string): Reply {
  return { xml: `<${operation}Response>${content}</${operation}Response>` };
}

function queryReply(operation: string, content: string): Reply {
  return ec2Reply(operation, `<${operation}Result>${content}</${operation}Result>`);
}

function fields(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('');
}

/** EC2's lists. */
function set(name: string, items: string[]): string {
  return `<${name}>${items.map((item) => `<item>${item}</item>`).join('')}</${name}>`;
}

/** Lists of the query protocol. */
function list(name: string, items: string[]): string {
  return `<${name}>${items.map((item) => `<member>${item}</member>`).join('')}</${name}>`;
}

function member({ id, lifecycle, protectedFromScaleIn, weight }: GroupMember, group?: string) {
  return fields({
    InstanceId: id,
    LifecycleState: lifecycle,
    ProtectedFromScaleIn: String(protectedFromScaleIn),
    WeightedCapacity: String(weight),
    ...(group === undefined ? {} : { AutoScalingGroupName: group }),
  });
}

function scalingGroup(group: ScalingGroup): string {
  return (
    fields({
      AutoScalingGroupName: group.name,
      MinSize: String(group.min),
      MaxSize: String(group.max),
      DesiredCapacity: String(group.desired),
      ...(group.isDeleting ? { Status: 'Delete in progress' } : {}),
    }) +
    list(
      'Instances',
      group.members.map((each) => member(each)),
    ) +
    list(
      'SuspendedProcesses',
      group.suspended.map((name) => fields({ ProcessName: name })),
    )
  );
}
