import {
  DescribeClusterCommand,
  DescribeNodegroupCommand,
  EKSClient,
  ResourceNotFoundException,
} from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAwsWork } from '../../lib/aws/aws-work.ts';

const eks = mockClient(EKSClient);
const regions: string[] = [];
const work = createAwsWork({
  clusterOf: async (name) => ({ name, region: 'eu-central-1' }),
  eksIn: (region) => {
    regions.push(region);
    return new EKSClient({ region });
  },
  zonalShiftsIn: (region) => async () => [{ kind: 'autoshift', awayFrom: `${region}-az1` }],
});
const arn = 'arn:aws:eks:eu-central-1:111122223333:cluster/prod';

beforeEach(() => {
  eks.reset();
  regions.length = 0;
});

describe('createAwsWork', () => {
  it('gives ARN and status of the cluster, asked anew each time, in its region', async () => {
    eks
      .on(DescribeClusterCommand, { name: 'prod' })
      .resolvesOnce({ cluster: { arn, status: 'UPDATING' } })
      .resolves({ cluster: { arn, status: 'ACTIVE' } });
    expect(await work.clusterStatus('prod')).toEqual({ arn, status: 'UPDATING' });
    expect(await work.clusterStatus('prod')).toEqual({ arn, status: 'ACTIVE' });
    expect(regions).toEqual(['eu-central-1', 'eu-central-1']);
    expect(await work.zonalShifts('prod')).toEqual([
      { kind: 'autoshift', awayFrom: 'eu-central-1-az1' },
    ]);
  });

  it('gives the status of a node group, or that there is none', async () => {
    eks
      .on(DescribeNodegroupCommand, { clusterName: 'prod', nodegroupName: 'general' })
      .resolves({ nodegroup: { status: 'UPDATING' } });
    eks
      .on(DescribeNodegroupCommand, { clusterName: 'prod', nodegroupName: 'gone' })
      .rejects(new ResourceNotFoundException({ message: 'no', $metadata: {} }));
    expect(await work.nodeGroupStatus('prod', 'general')).toBe('UPDATING');
    expect(await work.nodeGroupStatus('prod', 'gone')).toBeUndefined();
  });

  it('says what could not be read, and never takes that for a status', async () => {
    eks.on(DescribeClusterCommand).rejects(new Error('throttled'));
    eks.on(DescribeNodegroupCommand).resolves({});
    await expect(work.clusterStatus('prod')).rejects.toMatchObject({
      code: 'Eks.failed',
      message: 'cluster prod could not be described: throttled',
    });
    await expect(work.nodeGroupStatus('prod', 'general')).rejects.toMatchObject({
      message: 'node group general of cluster prod could not be described: EKS says nothing of it',
    });
  });
});
