import { describe, expect, it } from 'vitest';
import { type IncomingEvent, type Route, routeOf } from '../../lib/remediation/route.ts';
import { minute, t0 } from './samples.ts';

const event = (
  source: string,
  type: string,
  detail: Record<string, unknown>,
  time = new Date(t0 - minute).toISOString(),
): IncomingEvent => ({ id: 'e-1', source, 'detail-type': type, time, detail });
const node = { cluster: 'prod', node: 'n1', nodeUid: 'u1' };
const instance = { 'instance-id': 'i-1' };

describe('routeOf', () => {
  const table: [string, IncomingEvent, Route | { kind: 'drop' }][] = [
    [
      'a gap that the scan found: an attempt',
      event('nodegap', 'Node Gap Found', node),
      { kind: 'attempt', ...node, byPerson: false },
    ],
    [
      'a person who asks for a node: an attempt that is always due',
      event('nodegap', 'Node Requested', node),
      { kind: 'attempt', ...node, byPerson: true },
    ],
    ['a gap without a node: dropped', event('nodegap', 'Node Gap Found', {}), { kind: 'drop' }],
    [
      'somebody else who speaks of a gap: dropped',
      event('acme', 'Node Gap Found', node),
      { kind: 'drop' },
    ],
    [
      'a degraded add-on: a scan of its cluster',
      event('aws.eks', 'EKS Addon Health Degraded', { clusterName: 'prod' }),
      { kind: 'rescan', cluster: 'prod' },
    ],
    [
      'a degraded add-on that names no cluster: a scan of all',
      event('aws.eks', 'EKS Addon Health Degraded', {}),
      { kind: 'rescan' },
    ],
    [
      'a forwarder that found a node unhealthy: a scan, never an attempt',
      event('nodegap.forwarder', 'Node Unhealthy', node),
      { kind: 'rescan', cluster: 'prod' },
    ],
    [
      'an AWS Health event: a scan of all',
      event('aws.health', 'AWS Health Event', {}),
      { kind: 'rescan' },
    ],
    [
      'a rebalance recommendation: a scan of all',
      event('aws.ec2', 'EC2 Instance Rebalance Recommendation', instance),
      { kind: 'rescan' },
    ],
    [
      'an instance that shuts down: leaving',
      event('aws.ec2', 'EC2 Instance State-change Notification', {
        ...instance,
        state: 'shutting-down',
      }),
      { kind: 'leaving', instanceId: 'i-1', reason: 'EC2 says shutting-down' },
    ],
    [
      'an instance that runs now: it may bear a startup taint',
      event('aws.ec2', 'EC2 Instance State-change Notification', { ...instance, state: 'running' }),
      { kind: 'admission' },
    ],
    [
      'an instance that ran long ago: dropped',
      event(
        'aws.ec2',
        'EC2 Instance State-change Notification',
        { ...instance, state: 'running' },
        new Date(t0 - 16 * minute).toISOString(),
      ),
      { kind: 'drop' },
    ],
    [
      'an instance that starts: nothing',
      event('aws.ec2', 'EC2 Instance State-change Notification', { ...instance, state: 'pending' }),
      { kind: 'drop' },
    ],
    [
      'a scan that saw a startup taint: an admission there',
      event('nodegap', 'Admission Wanted', { cluster: 'prod' }),
      { kind: 'admission', cluster: 'prod' },
    ],
    [
      'a scan that saw condition taints due: a run there',
      event('nodegap', 'Condition Taints Due', { cluster: 'prod' }),
      { kind: 'condition-taints', cluster: 'prod' },
    ],
    [
      'an admission wanted nowhere: dropped',
      event('nodegap', 'Admission Wanted', {}),
      { kind: 'drop' },
    ],
    [
      'a node that has not proved itself: an attempt that knows why',
      event('nodegap', 'Node Gap Found', { ...node, overdue: 'x'.repeat(2_000) }),
      { kind: 'attempt', ...node, byPerson: false, overdue: 'x'.repeat(1_000) },
    ],
    [
      'a Spot interruption: leaving',
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', {
        ...instance,
        'instance-action': 'terminate',
      }),
      { kind: 'leaving', instanceId: 'i-1', reason: 'Spot interruption' },
    ],
    [
      'a terminating lifecycle action: leaving',
      event('aws.autoscaling', 'EC2 Instance-terminate Lifecycle Action', { EC2InstanceId: 'i-1' }),
      { kind: 'leaving', instanceId: 'i-1', reason: 'Auto Scaling terminates it' },
    ],
    [
      'a return to the warm pool: nothing',
      event('aws.autoscaling', 'EC2 Instance-terminate Lifecycle Action', {
        EC2InstanceId: 'i-1',
        Destination: 'WarmPool',
      }),
      { kind: 'drop' },
    ],
    ['anything else: nothing', event('aws.s3', 'Object Created', {}), { kind: 'drop' }],
  ];
  it.each(table)('makes of %s', (_name, incoming, expected) => {
    expect(routeOf(incoming, t0)).toMatchObject(expected);
  });

  it.each([
    ['EC2 Instance State-change Notification', {}],
    ['EC2 Spot Instance Interruption Warning', { 'instance-id': '' }],
  ])('drops %s without an instance', (type, detail) => {
    expect(routeOf(event('aws.ec2', type, detail), t0)).toMatchObject({ kind: 'drop' });
  });

  it('drops what is older than 15 minutes, or of no known age', () => {
    const at = (ms: number) => new Date(t0 - ms).toISOString();
    const found = (time: string) =>
      routeOf(event('nodegap', 'Node Gap Found', node, time), t0).kind;
    expect(found(at(15 * minute))).toBe('attempt');
    expect(found(at(15 * minute + 1))).toBe('drop');
    expect(found('soon')).toBe('drop');
  });

  it('takes a clock that is ahead for what it is', () => {
    const ahead = new Date(t0 + 5 * minute).toISOString();
    expect(routeOf(event('nodegap', 'Node Gap Found', node, ahead), t0).kind).toBe('attempt');
  });

  it('remembers an instance that goes away however late the event comes', () => {
    const yesterday = new Date(t0 - 24 * 60 * minute).toISOString();
    const incoming = event(
      'aws.ec2',
      'EC2 Spot Instance Interruption Warning',
      instance,
      yesterday,
    );
    expect(routeOf(incoming, t0).kind).toBe('leaving');
  });
});
