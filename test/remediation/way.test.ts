import { describe, expect, it } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import type { Machines } from '../../lib/machines.ts';
import { findWay, type WayFacts } from '../../lib/remediation/way.ts';
import { claim, node } from './builders.ts';
import { FakeMachines, machine, machineId, member } from './machine-samples.ts';

const config: WayFacts['config'] = {
  karpenter: 'delete-nodeclaim',
  autoMode: 'defer',
  managedNodeGroup: 'terminate-instance',
  autoScalingGroup: 'terminate-instance',
  other: 'notify',
};
const managed = node({ labels: { 'eks.amazonaws.com/nodegroup': 'blue' } });
const selfManaged = node({ labels: {} });
const wayOf = (machines: Machines | undefined, parts: Partial<WayFacts> = {}) =>
  findWay(machines, { cluster: 'prod', node: managed, claim: { kind: 'none' }, config, ...parts });

describe('findWay', () => {
  it('goes through the NodeClaim for a node of Karpenter, without asking AWS', async () => {
    const machines = new FakeMachines();
    const made = claim();
    const pool = node({ labels: { 'karpenter.sh/nodepool': 'general' } });
    expect(await wayOf(machines, { node: pool, claim: { kind: 'found', claim: made } })).toEqual({
      kind: 'claim',
      claim: made,
    });
    expect(machines.asked).toEqual([]);
  });

  it('goes through the group for a node of one, and asks about the machine last', async () => {
    const machines = new FakeMachines();
    const expected = {
      kind: 'machine',
      machine: { id: machineId, group: 'eks-blue', desired: 5 },
    };
    expect(await wayOf(machines)).toEqual(expected);
    expect(machines.asked.at(-1)).toBe('machine');
    expect(await wayOf(machines, { node: selfManaged })).toEqual(expected);
  });

  it.each<[string, (machines: FakeMachines) => void, string, RegExp]>([
    [
      'no group',
      (m) => {
        m.place = undefined;
      },
      'no-group',
      /nothing would bring it back/,
    ],
    [
      'no machine',
      (m) => {
        m.found = undefined;
      },
      'machine-unknown',
      /EC2 knows no instance/,
    ],
    [
      'another machine',
      (m) => {
        m.found = machine({ tags: {} });
      },
      'machine-mismatch',
      /tag/,
    ],
    [
      'a machine of Auto Mode',
      (m) => {
        m.found = machine({ operator: 'eks.amazonaws.com' });
      },
      'machine-of-operator',
      /managed by eks.amazonaws.com/,
    ],
    [
      'a stopped one',
      (m) => {
        m.found = machine({ state: 'stopped' });
      },
      'machine-not-running',
      /is stopped/,
    ],
    [
      'one on its way out',
      (m) => {
        m.found = machine({ state: 'shutting-down' });
      },
      'machine-ending',
      /is shutting-down already$/,
    ],
    [
      'a group that holds',
      (m) => {
        m.refresh = 'Pending';
      },
      'group-refreshing',
      /Pending/,
    ],
    [
      'standby',
      (m) => {
        m.place = { group: 'eks-blue', member: member({ lifecycle: 'Standby' }) };
      },
      'machine-not-in-service',
      /Standby/,
    ],
  ])('finds none for %s', async (_what, change, code, why) => {
    const machines = new FakeMachines();
    change(machines);
    const way = await wayOf(machines);
    expect(way).toMatchObject({ kind: 'none', code });
    expect(way.kind === 'none' && way.message).toMatch(why);
  });

  it('C94: gives the line for the taint with a terminated machine of a node that stays', async () => {
    const machines = new FakeMachines();
    machines.found = machine({ state: 'terminated' });
    const silent = { ...managed, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } };
    const way = await wayOf(machines, { node: silent });
    expect(way).toMatchObject({ kind: 'none', code: 'machine-ending' });
    expect(way.kind === 'none' && way.message).toContain(
      'kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute',
    );
  });

  it('finds none where nothing can ask AWS, or may', async () => {
    expect(await wayOf(undefined)).toMatchObject({ kind: 'none', code: 'machine-unreadable' });
    const machines = new FakeMachines();
    machines.failure = new NodegapError('Machines.Denied', 'no right', { hint: 'deploy again' });
    expect(await wayOf(machines)).toEqual({
      kind: 'none',
      code: 'machine-unreadable',
      message: 'no right; deploy again',
    });
  });

  it('lets a failure that passes be tried again', async () => {
    const machines = new FakeMachines();
    machines.failure = new NodegapError('Machines.Unavailable', 'later');
    await expect(wayOf(machines)).rejects.toMatchObject({ code: 'Machines.Unavailable' });
  });

  it.each([
    ['fargate', { 'eks.amazonaws.com/compute-type': 'fargate' }, 'replaced-by-person'],
    ['hybrid', { 'eks.amazonaws.com/compute-type': 'hybrid' }, 'replaced-by-person'],
    ['auto mode', { 'eks.amazonaws.com/compute-type': 'auto' }, 'auto-mode-deferred'],
  ])('never asks about a machine of %s', async (_kind, labels, code) => {
    const machines = new FakeMachines();
    expect(await wayOf(machines, { node: node({ labels }) })).toMatchObject({ code });
    expect(machines.asked).toEqual([]);
  });
});
