import { describe, expect, it } from 'vitest';
import type { AwsWork, ZonalShift } from '../../lib/aws-work.ts';
import { NodegapError } from '../../lib/errors.ts';
import {
  judgeOutside,
  nothingOutside,
  type OutsideFacts,
  readOutside,
} from '../../lib/safety/outside-holds.ts';
import { node } from '../remediation/builders.ts';

const arn = 'arn:aws:eks:eu-west-1:111122223333:cluster/prod';
const policy = { zonalShifts: 'hold', eksUpdates: 'hold' } as const;
const inZone = (zoneId: string | undefined, group?: string) =>
  node({
    labels: {
      ...(zoneId === undefined ? {} : { 'topology.k8s.aws/zone-id': zoneId }),
      ...(group === undefined ? {} : { 'eks.amazonaws.com/nodegroup': group }),
    },
  });

const shift = (overrides: Partial<ZonalShift> = {}): ZonalShift => ({
  kind: 'zonal-shift',
  awayFrom: 'euw1-az1',
  resource: 'arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/app/web/1',
  ...overrides,
});
const autoshift: ZonalShift = { kind: 'autoshift', awayFrom: 'euw1-az1' };

function facts(overrides: Partial<OutsideFacts> = {}): OutsideFacts {
  return {
    ...nothingOutside,
    cluster: { ok: true, value: { arn, status: 'ACTIVE' } },
    ...overrides,
  };
}
const shifts = (...value: ZonalShift[]) => facts({ shifts: { ok: true, value } });
const group = (status: string | undefined) =>
  facts({ nodeGroups: new Map([['general', { ok: true, value: status }]]) });

describe('judgeOutside', () => {
  it.each<[string, OutsideFacts, ReturnType<typeof inZone>, string | undefined]>([
    ['nothing is under way', facts(), inZone('euw1-az1', 'general'), undefined],
    [
      'another resource shifts away from the zone',
      shifts(shift()),
      inZone('euw1-az1'),
      'zonal-shift',
    ],
    [
      'another resource shifts away from another zone',
      shifts(shift()),
      inZone('euw1-az2'),
      undefined,
    ],
    ['the node does not say its zone', shifts(shift()), inZone(undefined), 'zonal-shift'],
    [
      'the cluster shifts away from any zone',
      shifts(shift({ resource: arn })),
      inZone('euw1-az2'),
      'zonal-shift',
    ],
    [
      'a practice run shifts the cluster',
      shifts(shift({ kind: 'practice-run', resource: arn })),
      inZone('euw1-az2'),
      'zonal-shift',
    ],
    ['an autoshift is away from the zone', shifts(autoshift), inZone('euw1-az1'), 'zonal-shift'],
    ['an autoshift is away from another zone', shifts(autoshift), inZone('euw1-az3'), undefined],
    [
      'the cluster is being updated',
      facts({ cluster: { ok: true, value: { arn, status: 'UPDATING' } } }),
      inZone('euw1-az1'),
      'eks-cluster-updating',
    ],
    [
      'its node group is being updated',
      group('UPDATING'),
      inZone('euw1-az1', 'general'),
      'eks-node-group-updating',
    ],
    [
      'its node group is being deleted',
      group('DELETING'),
      inZone('euw1-az1', 'general'),
      'eks-node-group-updating',
    ],
    ['its node group is degraded', group('DEGRADED'), inZone('euw1-az1', 'general'), undefined],
    ['its node group does not exist', group(undefined), inZone('euw1-az1', 'general'), undefined],
    [
      'another node group is being updated',
      group('UPDATING'),
      inZone('euw1-az1', 'gpu'),
      undefined,
    ],
    [
      'the shifts cannot be read',
      facts({ shifts: { ok: false, reason: 'AccessDenied' } }),
      inZone('euw1-az1'),
      'aws-unreadable',
    ],
    [
      'the cluster cannot be read',
      facts({ cluster: { ok: false, reason: 'throttled' } }),
      inZone('euw1-az1'),
      'aws-unreadable',
    ],
    [
      'its node group cannot be read',
      facts({ nodeGroups: new Map([['general', { ok: false, reason: 'throttled' }]]) }),
      inZone('euw1-az1', 'general'),
      'aws-unreadable',
    ],
    [
      'something holds and something else cannot be read',
      facts({ shifts: { ok: true, value: [autoshift] }, cluster: { ok: false, reason: 'x' } }),
      inZone('euw1-az1'),
      'zonal-shift',
    ],
  ])('when %s', (_what, read, of, code) => {
    expect(judgeOutside(of, read, policy)?.code).toBe(code);
  });

  it('says what is under way, where and until when', () => {
    const until = Date.parse('2026-12-01T00:00:00Z');
    expect(
      judgeOutside(inZone('euw1-az2'), shifts(shift({ resource: arn, until })), policy),
    ).toEqual({
      kind: 'hold',
      code: 'zonal-shift',
      message: `cluster: a zonal shift away from euw1-az1 is active for ${arn} until 2026-12-01T00:00:00Z; no new work in the whole cluster`,
    });
    expect(judgeOutside(inZone('euw1-az1'), shifts(autoshift), policy)?.message).toBe(
      'zone euw1-az1: an autoshift away from euw1-az1 is active; no new work there',
    );
    expect(judgeOutside(inZone('euw1-az1', 'general'), group('UPDATING'), policy)?.message).toBe(
      'pool general: EKS calls the node group UPDATING; no new work in it',
    );
  });

  it('is a doubt, no hold, when something could not be read', () => {
    const read = facts({ shifts: { ok: false, reason: 'no answer' } });
    expect(judgeOutside(inZone('euw1-az1'), read, policy)).toEqual({
      kind: 'unreadable',
      code: 'aws-unreadable',
      message: 'what AWS is doing here cannot be read: no answer',
    });
  });
});

describe('readOutside', () => {
  function port(answers: Partial<AwsWork> = {}) {
    const asked: string[] = [];
    const noting =
      <A extends unknown[], R>(name: string, answer: (...args: A) => R) =>
      (...args: A): R => {
        asked.push([name, ...args].join(' '));
        return answer(...args);
      };
    const work: AwsWork = {
      zonalShifts: noting('shifts', answers.zonalShifts ?? (async () => [])),
      clusterStatus: noting(
        'cluster',
        answers.clusterStatus ?? (async () => ({ arn, status: 'ACTIVE' })),
      ),
      nodeGroupStatus: noting('group', answers.nodeGroupStatus ?? (async () => 'ACTIVE')),
    };
    return { work, asked };
  }
  const nodes = [inZone('euw1-az1', 'general'), inZone('euw1-az1', 'general'), inZone('euw1-az1')];

  it('asks once for each thing that concerns the nodes', async () => {
    const { work, asked } = port();
    await readOutside(work, 'prod', nodes, policy);
    expect(asked.toSorted()).toEqual(['cluster prod', 'group prod general', 'shifts prod']);
  });

  it('asks nothing for no nodes, without a port, and where all is ignored', async () => {
    const { work, asked } = port();
    const ignore = { zonalShifts: 'ignore', eksUpdates: 'ignore' } as const;
    expect(await readOutside(work, 'prod', [], policy)).toEqual(nothingOutside);
    expect(await readOutside(work, 'prod', nodes, ignore)).toEqual(nothingOutside);
    expect(await readOutside(undefined, 'prod', nodes, policy)).toEqual(nothingOutside);
    expect(asked).toEqual([]);
  });

  it('never asks ARC where shifts are ignored, and holds for no update where these are', async () => {
    const { work, asked } = port({ clusterStatus: async () => ({ arn, status: 'UPDATING' }) });
    await readOutside(work, 'prod', nodes, { ...policy, zonalShifts: 'ignore' });
    expect(asked).not.toContain('shifts prod');
    const ignored = { ...policy, eksUpdates: 'ignore' } as const;
    const read = await readOutside(work, 'prod', nodes, ignored);
    expect(judgeOutside(inZone('euw1-az1'), read, ignored)).toBeUndefined();
  });

  it('keeps why something could not be read, and lets a bug through', async () => {
    const denied = port({
      zonalShifts: async () => {
        throw new NodegapError('Arc.denied', 'not allowed');
      },
    });
    const read = await readOutside(denied.work, 'prod', nodes, policy);
    expect(read.shifts).toEqual({ ok: false, reason: 'not allowed' });
    expect(read.cluster).toMatchObject({ ok: true });
    const broken = port({
      zonalShifts: async () => {
        throw new TypeError('bug');
      },
    });
    await expect(readOutside(broken.work, 'prod', nodes, policy)).rejects.toThrow('bug');
  });
});
