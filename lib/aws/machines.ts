/** Reads machines from EC2, Auto Scaling and EKS. */
import {
  type AutoScalingClient,
  DescribeAutoScalingGroupsCommand,
  DescribeAutoScalingInstancesCommand,
  DescribeInstanceRefreshesCommand,
  type AutoScalingGroup as SdkGroup,
} from '@aws-sdk/client-auto-scaling';
import { DescribeNodegroupCommand, type EKSClient } from '@aws-sdk/client-eks';
import { parseTime } from '../clock.ts';
import { NodegapError } from '../errors.ts';
import type {
  GroupMember,
  Machine,
  Machines,
  ManagedNodeGroup,
  ScalingGroup,
} from '../machines.ts';
import { child, type Ec2Query, itemsOf, textOf, type XmlValue } from './ec2-query.ts';
import { failureOf, nameOf } from './machine-failure.ts';

export interface MachineClients {
  ec2: Ec2Query;
  autoScaling: AutoScalingClient;
  eks: EKSClient;
}

const machineStates = new Set<string>([
  'pending',
  'running',
  'shutting-down',
  'terminated',
  'stopping',
  'stopped',
]);

/** Statuses of an instance refresh that still changes the group. */
const refreshing = new Set([
  'Pending',
  'InProgress',
  'Cancelling',
  'RollbackInProgress',
  // Waits after the last instance, and may still roll back.
  'Baking',
]);

export class AwsMachines implements Machines {
  readonly #clients: MachineClients;

  constructor(clients: MachineClients) {
    this.#clients = clients;
  }

  async machine(id: string): Promise<Machine | undefined> {
    const answer = await this.#clients
      .ec2('DescribeInstances', { 'InstanceId.1': id })
      .catch((cause: unknown) => {
        // An hour or so after its end EC2 forgets an instance.
        if (cause instanceof NodegapError && cause.code === 'Ec2.not-found') return '';
        throw failureOf(`instance ${id} could not be described`, cause);
      });
    const found = itemsOf(child(answer, 'reservationSet'))
      .flatMap((reservation) => itemsOf(child(reservation, 'instancesSet')))
      .find((instance) => textOf(child(instance, 'instanceId')) === id);
    return found === undefined ? undefined : machineOf(id, found);
  }

  async memberOf(id: string): Promise<{ group: string; member: GroupMember } | undefined> {
    const answer = await this.#clients.autoScaling
      .send(new DescribeAutoScalingInstancesCommand({ InstanceIds: [id] }))
      .catch((cause: unknown) => {
        throw failureOf(`the group of ${id} could not be described`, cause);
      });
    const found = answer.AutoScalingInstances?.find(({ InstanceId }) => InstanceId === id);
    if (found?.AutoScalingGroupName === undefined) return undefined;
    return { group: found.AutoScalingGroupName, member: memberOf(found) };
  }

  async group(name: string): Promise<ScalingGroup | undefined> {
    const answer = await this.#clients.autoScaling
      .send(new DescribeAutoScalingGroupsCommand({ AutoScalingGroupNames: [name] }))
      .catch((cause: unknown) => {
        throw failureOf(`Auto Scaling group ${name} could not be described`, cause);
      });
    const found = answer.AutoScalingGroups?.find((each) => each.AutoScalingGroupName === name);
    return found === undefined ? undefined : groupOf(name, found);
  }

  async refreshOf(group: string): Promise<string | undefined> {
    // The newest come first, and only one can be under way.
    const answer = await this.#clients.autoScaling
      .send(new DescribeInstanceRefreshesCommand({ AutoScalingGroupName: group, MaxRecords: 10 }))
      .catch((cause: unknown) => {
        throw failureOf(`instance refreshes of ${group} could not be described`, cause);
      });
    return answer.InstanceRefreshes?.map(({ Status }) => Status).find(
      (status) => status !== undefined && refreshing.has(status),
    );
  }

  async nodeGroup(cluster: string, name: string): Promise<ManagedNodeGroup | undefined> {
    try {
      const { nodegroup } = await this.#clients.eks.send(
        new DescribeNodegroupCommand({ clusterName: cluster, nodegroupName: name }),
      );
      if (nodegroup?.status === undefined) return undefined;
      return {
        name,
        status: nodegroup.status,
        issues: (nodegroup.health?.issues ?? []).flatMap(({ code }) => code ?? []),
        scalingGroups: (nodegroup.resources?.autoScalingGroups ?? []).flatMap(
          (group) => group.name ?? [],
        ),
      };
    } catch (cause) {
      if (nameOf(cause) === 'ResourceNotFoundException') return undefined;
      throw failureOf(`node group ${name} of ${cluster} could not be described`, cause);
    }
  }
}

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html */
function machineOf(id: string, instance: XmlValue): Machine {
  const state = textOf(child(child(instance, 'instanceState'), 'name'));
  const launchedAt = parseTime(textOf(child(instance, 'launchTime')));
  if (!isState(state) || launchedAt === undefined) {
    throw failureOf(`EC2 says nothing of the state of ${id}`, undefined);
  }
  const operator = child(instance, 'operator');
  return {
    id,
    state,
    zone: textOf(child(child(instance, 'placement'), 'availabilityZone')),
    launchedAt,
    tags: Object.fromEntries(
      itemsOf(child(instance, 'tagSet')).map((tag) => [
        textOf(child(tag, 'key')),
        textOf(child(tag, 'value')),
      ]),
    ),
    ...(textOf(child(operator, 'managed')) === 'true'
      ? { operator: textOf(child(operator, 'principal')) || 'an AWS service' }
      : {}),
  };
}

function isState(state: string): state is Machine['state'] {
  return machineStates.has(state);
}

function groupOf(name: string, group: SdkGroup): ScalingGroup {
  return {
    name,
    min: group.MinSize ?? 0,
    max: group.MaxSize ?? 0,
    desired: group.DesiredCapacity ?? 0,
    members: (group.Instances ?? []).map(memberOf),
    suspended: (group.SuspendedProcesses ?? []).flatMap(({ ProcessName }) => ProcessName ?? []),
    hasWarmPool: group.WarmPoolConfiguration !== undefined,
    isDeleting: group.Status !== undefined,
  };
}

function memberOf(instance: {
  InstanceId?: string | undefined;
  LifecycleState?: string | undefined;
  ProtectedFromScaleIn?: boolean | undefined;
  WeightedCapacity?: string | undefined;
}): GroupMember {
  const weight = Number(instance.WeightedCapacity ?? 1);
  return {
    id: instance.InstanceId ?? '',
    lifecycle: instance.LifecycleState ?? 'unknown',
    protectedFromScaleIn: instance.ProtectedFromScaleIn ?? false,
    weight: Number.isFinite(weight) && weight > 0 ? weight : 1,
  };
}
