import { DescribeNodegroupCommand, EKSClient } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createNodeGroupRepairs } from '../../lib/aws/node-group-repair.ts';

const eks = mockClient(EKSClient);
const repairs = createNodeGroupRepairs(new EKSClient({ region: 'eu-west-1' }));
beforeEach(() => void eks.reset());

describe('createNodeGroupRepairs', () => {
  it.each<[string, object, string]>([
    ['on', { nodeRepairConfig: { enabled: true } }, 'on'],
    ['off', { nodeRepairConfig: { enabled: false } }, 'off'],
    ['not configured', {}, 'off'],
  ])('reads repair that is %s', async (_title, nodegroup, expected) => {
    eks
      .on(DescribeNodegroupCommand, { clusterName: 'prod', nodegroupName: 'general' })
      .resolves({ nodegroup });
    expect(await repairs.repairOf('prod', 'general')).toBe(expected);
  });

  it('throws when EKS does not tell', async () => {
    eks.on(DescribeNodegroupCommand).resolves({});
    await expect(repairs.repairOf('prod', 'general')).rejects.toMatchObject({ code: 'Eks.failed' });
    eks.on(DescribeNodegroupCommand).rejects(new Error('denied'));
    await expect(repairs.repairOf('prod', 'general')).rejects.toThrow(
      'node group general of cluster prod could not be described: denied',
    );
  });
});
