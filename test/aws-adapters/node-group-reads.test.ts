import { gzipSync } from 'node:zlib';
import { DescribeNodegroupCommand, EKSClient, ListNodegroupsCommand } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Ec2Query, XmlValue } from '../../lib/aws/ec2-query.ts';
import { createNodeGroupReads } from '../../lib/aws/node-group-reads.ts';
import { NodegapError } from '../../lib/errors.ts';

const eks = mockClient(EKSClient);
beforeEach(() => void eks.reset());

function readsOver(ec2: Ec2Query = async () => '') {
  return createNodeGroupReads(new EKSClient({ region: 'eu-west-1' }), ec2);
}

function named(name: string): Error {
  return Object.assign(new Error('no'), { name });
}

const version = (id: string, number: string, userData: string): XmlValue => ({
  launchTemplateId: id,
  launchTemplateName: `name-${id}`,
  versionNumber: number,
  launchTemplateData: userData === '' ? '' : { userData },
});

describe('nodeGroups', () => {
  it('follows the pages and writes effects as Kubernetes does', async () => {
    eks
      .on(ListNodegroupsCommand, { clusterName: 'prod' })
      .resolvesOnce({ nodegroups: ['b'], nextToken: 'more' })
      .resolvesOnce({ nodegroups: ['a'] });
    eks.on(DescribeNodegroupCommand, { nodegroupName: 'a' }).resolves({
      nodegroup: {
        labels: { team: 'x' },
        taints: [
          { key: 'one', value: 'v', effect: 'NO_SCHEDULE' },
          { key: 'two', effect: 'NO_EXECUTE' },
          { key: 'three', effect: 'PREFER_NO_SCHEDULE' },
        ],
        launchTemplate: { id: 'lt-1', version: '3' },
      },
    });
    eks.on(DescribeNodegroupCommand, { nodegroupName: 'b' }).resolves({ nodegroup: {} });
    expect(await readsOver().nodeGroups('prod')).toEqual([
      {
        name: 'a',
        labels: { team: 'x' },
        taints: [
          { key: 'one', value: 'v', effect: 'NoSchedule' },
          { key: 'two', effect: 'NoExecute' },
          { key: 'three', effect: 'PreferNoSchedule' },
        ],
        launchTemplate: { id: 'lt-1', version: '3' },
      },
      { name: 'b', labels: {}, taints: [] },
    ]);
    expect(eks.commandCalls(ListNodegroupsCommand)[1]?.args[0].input).toMatchObject({
      nextToken: 'more',
    });
  });

  it('leaves out a group that went away meanwhile', async () => {
    eks.on(ListNodegroupsCommand).resolves({ nodegroups: ['a'] });
    eks.on(DescribeNodegroupCommand).rejects(named('ResourceNotFoundException'));
    expect(await readsOver().nodeGroups('prod')).toEqual([]);
  });

  it.each([
    ['AccessDeniedException', 'Eks.denied'],
    ['ServerException', 'Eks.failed'],
  ])('throws for %s with code %s', async (name, code) => {
    eks.on(ListNodegroupsCommand).rejects(named(name));
    await expect(readsOver().nodeGroups('prod')).rejects.toMatchObject({ code });
    eks.on(ListNodegroupsCommand).resolves({ nodegroups: ['a'] });
    eks.on(DescribeNodegroupCommand).rejects(named(name));
    await expect(readsOver().nodeGroups('prod')).rejects.toMatchObject({ code });
  });
});

describe('launchTemplate', () => {
  it.each([
    ['plain', Buffer.from('#!/bin/sh\nhi')],
    ['packed', gzipSync('#!/bin/sh\nhi')],
  ])('decodes %s user data and keeps the version that was asked for', async (_title, bytes) => {
    const asked: unknown[] = [];
    const reads = readsOver(async (action, parameters) => {
      asked.push({ action, ...parameters });
      return {
        launchTemplateVersionSet: { item: version('lt-1', '7', bytes.toString('base64')) },
      };
    });
    expect(await reads.launchTemplate('lt-1', '$Latest')).toEqual({
      id: 'lt-1',
      name: 'name-lt-1',
      version: '$Latest',
      userData: '#!/bin/sh\nhi',
    });
    expect(asked).toEqual([
      {
        action: 'DescribeLaunchTemplateVersions',
        LaunchTemplateId: 'lt-1',
        'LaunchTemplateVersion.1': '$Latest',
      },
    ]);
  });

  it('takes nothing from user data that does not unpack', async () => {
    const broken = Buffer.from([0x1f, 0x8b, 1, 2, 3]).toString('base64');
    const reads = readsOver(async () => ({
      launchTemplateVersionSet: { item: version('lt-1', '1', broken) },
    }));
    expect(await reads.launchTemplate('lt-1', '1')).toMatchObject({ userData: '' });
  });

  it('is undefined where EC2 gives none', async () => {
    expect(await readsOver().launchTemplate('lt-1', '1')).toBeUndefined();
  });

  it('is undefined where EC2 does not know it, and throws for anything else', async () => {
    const failing = (code: string) =>
      readsOver(async () => {
        throw new NodegapError(code, 'no');
      }).launchTemplate('lt-1', '1');
    expect(await failing('Ec2.not-found')).toBeUndefined();
    await expect(failing('Ec2.denied')).rejects.toMatchObject({ code: 'Ec2.denied' });
  });
});

describe('newestLaunchTemplates', () => {
  it('follows the pages over the templates of the account', async () => {
    const tokens: (string | undefined)[] = [];
    const reads = readsOver(async (_action, parameters) => {
      tokens.push(parameters.NextToken);
      return parameters.NextToken === undefined
        ? { launchTemplateVersionSet: { item: version('lt-1', '4', '') }, nextToken: 'more' }
        : { launchTemplateVersionSet: { item: [version('lt-2', '9', '')] } };
    });
    expect(await reads.newestLaunchTemplates()).toEqual([
      { id: 'lt-1', name: 'name-lt-1', version: '4' },
      { id: 'lt-2', name: 'name-lt-2', version: '9' },
    ]);
    expect(tokens).toEqual([undefined, 'more']);
  });
});
