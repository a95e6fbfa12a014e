import { describe, expect, it } from 'vitest';
import type { InstanceReading, LeaseReading } from '../../lib/observation-ports.ts';
import { type Agreement, decide } from '../../lib/safety/second-observer.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const impaired: InstanceReading = { kind: 'impaired', checks: ['instance status'] };
const ok: InstanceReading = { kind: 'ok' };
const renewed = (secondsAgo: number): LeaseReading => ({
  kind: 'read',
  renewedAt: now - secondsAgo * 1000,
});
const silent = renewed(600);

const opinionOn = (ready: string, instance: InstanceReading, lease: LeaseReading) =>
  decide({ node: 'n1', ready, instance, lease }, now);

describe('the second observer', () => {
  it.each<[string, string, InstanceReading, LeaseReading, Agreement]>([
    ['EC2 impaired, kubelet silent', 'Unknown', impaired, silent, 'agrees'],
    ['EC2 ok, kubelet silent', 'Unknown', ok, silent, 'disagrees'],
    ['EC2 impaired, kubelet alive', 'Unknown', impaired, renewed(10), 'disagrees'],
    ['EC2 ok, kubelet alive', 'Unknown', ok, renewed(10), 'disagrees'],
    ['a lease at the grace', 'Unknown', impaired, renewed(50), 'disagrees'],
    ['a lease past the grace', 'Unknown', impaired, renewed(51), 'agrees'],
    ['a lease of the future', 'Unknown', impaired, renewed(-120), 'unknown'],
    ['no lease', 'Unknown', impaired, { kind: 'absent' }, 'unknown'],
    ['a lease unread', 'Unknown', impaired, { kind: 'unread', reason: 'denied' }, 'unknown'],
    ['EC2 ok, a lease unread', 'Unknown', ok, { kind: 'unread', reason: 'denied' }, 'disagrees'],
    ['initializing', 'Unknown', { kind: 'undecided', status: 'initializing' }, silent, 'unknown'],
    [
      'insufficient-data',
      'Unknown',
      { kind: 'undecided', status: 'insufficient-data' },
      silent,
      'unknown',
    ],
    ['a stopped instance', 'Unknown', { kind: 'not-running', state: 'stopped' }, silent, 'unknown'],
    ['no such instance', 'Unknown', { kind: 'absent' }, silent, 'unknown'],
    ['EC2 unread', 'Unknown', { kind: 'unread', reason: 'throttled' }, silent, 'unknown'],
    [
      'EC2 unread, kubelet alive',
      'Unknown',
      { kind: 'unread', reason: 'throttled' },
      renewed(1),
      'disagrees',
    ],
    // `False` is the kubelet's own word: it has to live to say it.
    ['False, EC2 impaired', 'False', impaired, renewed(10), 'agrees'],
    ['False, EC2 ok', 'False', ok, renewed(10), 'disagrees'],
    ['False of a silent kubelet', 'False', impaired, silent, 'unknown'],
    ['a node that counts as Ready', 'True', impaired, silent, 'disagrees'],
  ])('%s: %s', (_title, ready, instance, lease, expected) => {
    expect(opinionOn(ready, instance, lease).kind).toBe(expected);
  });

  it('gives the facts of both when it agrees', () => {
    const since = now - 3_600_000;
    expect(opinionOn('Unknown', { ...impaired, since }, silent).message).toBe(
      'EC2 calls its instance status impaired since 2026-11-29T11:00:00Z; its kubelet renewed the lease at 2026-11-29T11:50:00Z and is silent since',
    );
  });

  it('says where to look when EC2 finds nothing wrong', () => {
    expect(opinionOn('Unknown', ok, silent).message).toContain('look at its kubelet');
  });
});
