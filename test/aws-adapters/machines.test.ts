import {
  AutoScalingClient,
  DescribeAutoScalingGroupsCommand,
  DescribeAutoScalingInstancesCommand,
  DescribeInstanceRefreshesCommand,
} from '@aws-sdk/client-auto-scaling';
import { DescribeNodegroupCommand, EKSClient } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Ec2Query, XmlValue } from '../../lib/aws/ec2-query.ts';
import { AwsMachines } from '../../lib/aws/machines.ts';
import { NodegapError } from '../../lib/errors.ts';

const scaling = mockClient(AutoScalingClient);
const eks = mockClient(EKSClient);
const region = 'eu-west-1';
const id = 'i-0123456789abcdef0';

beforeEach(() => {
  scaling.reset();
  eks.reset();
});

function machinesOver(ec2: Ec2Query = async () => '') {
  return new AwsMachines({
    ec2,
    autoScaling: new AutoScalingClient({ region }),
    eks: new EKSClient({ region }),
  });
}

function named(name: string): Error {
  return Object.assign(new Error('told by the mock'), { name });
}

describe('machine', () => {
  const instance = (parts: Record<string, XmlValue> = {}): XmlValue => ({
    requestId: 'r',
    reservationSet: {
      item: {
        instancesSet: {
          item: {
            instanceId: id,
            instanceState: { code: '16', name: 'running' },
            launchTime: '2026-11-29T05:59:00.000Z',
            placement: { availabilityZone: 'eu-west-1a' },
            tagSet: {
              item: [
                { key: 'kubernetes.io/cluster/prod', value: 'owned' },
                { key: 'Name', value: '' },
              ],
            },
            ...parts,
          },
        },
      },
    },
  });

  it('asks for one instance by its id', async () => {
    const asked: unknown[] = [];
    const machines = machinesOver(async (...call) => {
      asked.push(call);
      return instance();
    });
    expect(await machines.machine(id)).toEqual({
      id,
      state: 'running',
      zone: 'eu-west-1a',
      launchedAt: Date.parse('2026-11-29T05:59:00Z'),
      tags: { 'kubernetes.io/cluster/prod': 'owned', Name: '' },
    });
    expect(asked).toEqual([['DescribeInstances', { 'InstanceId.1': id }]]);
  });

  it('tells who operates an instance of EKS Auto Mode', async () => {
    const operator = { managed: 'true', principal: 'eks.amazonaws.com' };
    const machines = machinesOver(async () => instance({ operator }));
    expect(await machines.machine(id)).toMatchObject({ operator: 'eks.amazonaws.com' });
    const own = machinesOver(async () => instance({ operator: { managed: 'false' } }));
    expect(await own.machine(id)).not.toHaveProperty('operator');
  });

  it('takes an unknown id and an empty answer for no machine', async () => {
    const unknown = machinesOver(async () => {
      throw new NodegapError('Ec2.not-found', 'InvalidInstanceID.NotFound');
    });
    expect(await unknown.machine(id)).toBeUndefined();
    expect(await machinesOver(async () => ({ reservationSet: '' })).machine(id)).toBeUndefined();
  });

  it.each([
    ['Machines.Denied', 'Ec2.denied'],
    ['Machines.Unavailable', 'Ec2.failed'],
  ])('throws %s for %s', async (code, cause) => {
    const machines = machinesOver(async () => {
      throw new NodegapError(cause, 'told by the test');
    });
    await expect(machines.machine(id)).rejects.toMatchObject({ code });
  });

  it('does not guess a state or a launch time', async () => {
    for (const parts of [{ instanceState: { name: 'new' } }, { launchTime: '' }]) {
      const machines = machinesOver(async () => instance(parts));
      await expect(machines.machine(id)).rejects.toMatchObject({ code: 'Machines.Unavailable' });
    }
  });
});

describe('memberOf', () => {
  it('names the group and the place in it', async () => {
    scaling.on(DescribeAutoScalingInstancesCommand, { InstanceIds: [id] }).resolves({
      AutoScalingInstances: [
        {
          InstanceId: id,
          AutoScalingGroupName: 'eks-blue',
          AvailabilityZone: 'eu-west-1a',
          LifecycleState: 'InService',
          HealthStatus: 'HEALTHY',
          ProtectedFromScaleIn: true,
          WeightedCapacity: '3',
        },
      ],
    });
    expect(await machinesOver().memberOf(id)).toEqual({
      group: 'eks-blue',
      member: { id, lifecycle: 'InService', protectedFromScaleIn: true, weight: 3 },
    });
  });

  it('is nothing for an instance without a group', async () => {
    scaling.on(DescribeAutoScalingInstancesCommand).resolves({ AutoScalingInstances: [] });
    expect(await machinesOver().memberOf(id)).toBeUndefined();
  });

  it.each([
    ['Machines.Denied', 'AccessDenied'],
    ['Machines.Unavailable', 'Throttling'],
  ])('throws %s for %s', async (code, name) => {
    scaling.on(DescribeAutoScalingInstancesCommand).rejects(named(name));
    await expect(machinesOver().memberOf(id)).rejects.toMatchObject({ code });
  });
});

describe('group', () => {
  const described = {
    AutoScalingGroupName: 'eks-blue',
    MinSize: 1,
    MaxSize: 9,
    DesiredCapacity: 5,
    DefaultCooldown: 300,
    AvailabilityZones: ['eu-west-1a'],
    HealthCheckType: 'EC2',
    CreatedTime: new Date(0),
  };

  it('tells capacity, members, suspended processes and the warm pool', async () => {
    scaling.on(DescribeAutoScalingGroupsCommand, { AutoScalingGroupNames: ['eks-blue'] }).resolves({
      AutoScalingGroups: [
        {
          ...described,
          Instances: [
            {
              InstanceId: id,
              AvailabilityZone: 'eu-west-1a',
              LifecycleState: 'Terminating:Wait',
              HealthStatus: 'Healthy',
              ProtectedFromScaleIn: false,
            },
          ],
          SuspendedProcesses: [{ ProcessName: 'Launch', SuspensionReason: 'a person' }],
          WarmPoolConfiguration: { MinSize: 1 },
        },
      ],
    });
    expect(await machinesOver().group('eks-blue')).toEqual({
      name: 'eks-blue',
      min: 1,
      max: 9,
      desired: 5,
      members: [{ id, lifecycle: 'Terminating:Wait', protectedFromScaleIn: false, weight: 1 }],
      suspended: ['Launch'],
      hasWarmPool: true,
      isDeleting: false,
    });
  });

  it('tells a group that is being deleted from one that is not there', async () => {
    const Status = 'Delete in progress';
    scaling
      .on(DescribeAutoScalingGroupsCommand)
      .resolvesOnce({ AutoScalingGroups: [{ ...described, Status }] })
      .resolves({ AutoScalingGroups: [] });
    expect(await machinesOver().group('eks-blue')).toMatchObject({ isDeleting: true });
    expect(await machinesOver().group('eks-blue')).toBeUndefined();
  });
});

describe('refreshOf', () => {
  it.each([
    ['Pending', 'Pending'],
    ['InProgress', 'InProgress'],
    ['Cancelling', 'Cancelling'],
    ['RollbackInProgress', 'RollbackInProgress'],
    ['Baking', 'Baking'],
    ['Successful', undefined],
    ['Failed', undefined],
    ['Cancelled', undefined],
    ['RollbackSuccessful', undefined],
    ['RollbackFailed', undefined],
  ] as const)('answers a refresh that is %s with %s', async (Status, expected) => {
    scaling
      .on(DescribeInstanceRefreshesCommand)
      .resolves({ InstanceRefreshes: [{ Status }, { Status: 'Successful' }] });
    expect(await machinesOver().refreshOf('eks-blue')).toBe(expected);
  });
});

describe('nodeGroup', () => {
  it('tells status, issues and Auto Scaling groups', async () => {
    eks.on(DescribeNodegroupCommand, { clusterName: 'prod', nodegroupName: 'blue' }).resolves({
      nodegroup: {
        status: 'DEGRADED',
        health: { issues: [{ code: 'AsgInstanceLaunchFailures' }] },
        resources: { autoScalingGroups: [{ name: 'eks-blue' }] },
      },
    });
    expect(await machinesOver().nodeGroup('prod', 'blue')).toEqual({
      name: 'blue',
      status: 'DEGRADED',
      issues: ['AsgInstanceLaunchFailures'],
      scalingGroups: ['eks-blue'],
    });
  });

  it('is nothing where EKS knows none', async () => {
    eks.on(DescribeNodegroupCommand).rejects(named('ResourceNotFoundException'));
    expect(await machinesOver().nodeGroup('prod', 'blue')).toBeUndefined();
  });

  it('throws Machines.Denied without the right', async () => {
    eks.on(DescribeNodegroupCommand).rejects(named('AccessDeniedException'));
    await expect(machinesOver().nodeGroup('prod', 'blue')).rejects.toMatchObject({
      code: 'Machines.Denied',
      hint: expect.stringContaining('deploy again'),
    });
  });
});
