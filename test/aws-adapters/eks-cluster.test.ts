import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEksClusters } from '../../lib/aws/eks-cluster.ts';
import { NodegapError } from '../../lib/errors.ts';
import { thrown } from '../kubernetes/loopback.ts';

const eks = mockClient(EKSClient);
const cluster = { name: 'prod', region: 'eu-central-1' };
const arn = 'arn:aws:eks:eu-central-1:111122223333:cluster/prod';
const minute = 60_000;

beforeEach(() => {
  eks.reset();
});

function described(endpoint = 'https://ABC.gr7.eu-central-1.eks.amazonaws.com') {
  return {
    cluster: {
      name: 'prod',
      arn,
      endpoint,
      status: 'ACTIVE' as const,
      certificateAuthority: { data: Buffer.from('PEM').toString('base64') },
      accessConfig: { authenticationMode: 'API' as const },
    },
  };
}

function clusters() {
  const clock = { time: 0, now: () => clock.time };
  return { clock, clusters: createEksClusters(clock) };
}

const named = (name: string, message: string) => Object.assign(new Error(message), { name });

describe('createEksClusters', () => {
  it('gives endpoint, decoded authority and ARN', async () => {
    eks.on(DescribeClusterCommand, { name: 'prod' }).resolves(described());
    expect(await clusters().clusters.recordOf(cluster)).toEqual({
      name: 'prod',
      arn,
      endpoint: 'https://ABC.gr7.eu-central-1.eks.amazonaws.com',
      certificateAuthority: 'PEM',
      authenticationMode: 'API',
    });
  });

  it('asks again after ten minutes, or when the record was dropped', async () => {
    eks.on(DescribeClusterCommand).resolves(described());
    const { clock, clusters: records } = clusters();
    const calls = () => eks.commandCalls(DescribeClusterCommand).length;
    await records.recordOf(cluster);
    clock.time = 10 * minute - 1;
    await records.recordOf(cluster);
    expect(calls()).toBe(1);
    clock.time = 10 * minute;
    await records.recordOf(cluster);
    expect(calls()).toBe(2);
    records.drop(cluster);
    await records.recordOf(cluster);
    expect(calls()).toBe(3);
  });

  it('does not keep a failure', async () => {
    eks.on(DescribeClusterCommand).rejectsOnce(named('Throttling', 'slow')).resolves(described());
    const { clusters: records } = clusters();
    expect(await thrown(() => records.recordOf(cluster))).toBeInstanceOf(NodegapError);
    expect(await records.recordOf(cluster)).toMatchObject({ arn });
  });

  it.each([
    [named('ResourceNotFoundException', 'No cluster found'), 'Eks.not-found', 'region and account'],
    [named('AccessDeniedException', 'not authorized'), 'Eks.denied', 'eks:DescribeCluster'],
  ])('says what to do about %s', async (failure, code, hint) => {
    eks.on(DescribeClusterCommand).rejects(failure);
    expect(await thrown(() => clusters().clusters.recordOf(cluster))).toMatchObject({
      code,
      message: expect.stringContaining('cluster prod in eu-central-1'),
      hint: expect.stringContaining(hint),
      cause: failure,
    });
  });

  it('refuses a cluster that has no endpoint yet', async () => {
    eks.on(DescribeClusterCommand).resolves({ cluster: { name: 'prod', arn, status: 'CREATING' } });
    expect(await thrown(() => clusters().clusters.recordOf(cluster))).toMatchObject({
      code: 'Eks.not-ready',
      message: expect.stringContaining('status CREATING'),
    });
  });
});
