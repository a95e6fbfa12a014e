import { describe, expect, it } from 'vitest';
import { type GroupFacts, groupHold, inService } from '../../lib/remediation/machine-holds.ts';
import { member, nodeGroup, scalingGroup } from './machine-samples.ts';

const well: GroupFacts = {
  member: member(),
  group: scalingGroup(),
  refresh: undefined,
  nodeGroup: nodeGroup(),
};
const among = (parts: Parameters<typeof member>[0]) => ({
  member: member(parts),
  group: scalingGroup({ members: [member(parts), ...scalingGroup().members.slice(1)] }),
});

describe('groupHold', () => {
  it('holds nothing back in a settled group, managed or not', () => {
    expect(groupHold(well)).toBeUndefined();
    expect(groupHold({ ...well, nodeGroup: 'none' })).toBeUndefined();
  });

  it.each<[string, Partial<GroupFacts>, RegExp]>([
    ['group-deleting', { group: undefined }, /is being deleted/],
    ['group-deleting', { group: scalingGroup({ isDeleting: true }) }, /is being deleted/],
    ['machine-in-warm-pool', among({ lifecycle: 'Warmed:Stopped' }), /warm pool of eks-blue/],
    ['machine-in-warm-pool', among({ lifecycle: 'Warmed:Pending:Wait' }), /Warmed:Pending:Wait/],
    ['machine-ending', among({ lifecycle: 'Terminating:Wait' }), /\(Terminating:Wait\)/],
    ['machine-ending', among({ lifecycle: 'Terminated' }), /Terminated/],
    ['machine-not-in-service', among({ lifecycle: 'Standby' }), /is Standby/],
    ['machine-not-in-service', among({ lifecycle: 'Detaching' }), /is Detaching/],
    ['machine-not-in-service', among({ lifecycle: 'Pending:Wait' }), /is Pending:Wait/],
    ['machine-protected', among({ protectedFromScaleIn: true }), /protected from scale-in/],
    ['node-group-unknown', { nodeGroup: undefined }, /no node group/],
    ['node-group-not-active', { nodeGroup: nodeGroup({ status: 'UPDATING' }) }, /is UPDATING, not/],
    [
      'node-group-not-active',
      { nodeGroup: nodeGroup({ status: 'DEGRADED', issues: ['AsgInstanceLaunchFailures'] }) },
      /is DEGRADED \(AsgInstanceLaunchFailures\)/,
    ],
    ['machine-mismatch', { nodeGroup: nodeGroup({ scalingGroups: ['other'] }) }, /no Auto Scaling/],
    ['group-suspended', { group: scalingGroup({ suspended: ['Launch'] }) }, /suspended Launch/],
    ['group-suspended', { group: scalingGroup({ suspended: ['Terminate'] }) }, /Terminate/],
    ['group-suspended', { group: scalingGroup({ suspended: ['ReplaceUnhealthy'] }) }, /Unhealthy/],
    ['group-warm-pool', { group: scalingGroup({ hasWarmPool: true }) }, /has a warm pool/],
    ['group-refreshing', { refresh: 'InProgress' }, /is InProgress/],
    ['group-at-zero', { group: scalingGroup({ desired: 0 }) }, /wants 0 instances/],
    ['group-at-zero', { group: scalingGroup({ max: 0 }) }, /at most 0/],
    [
      'group-unsettled',
      { group: scalingGroup({ desired: 6 }) },
      /5 of 6 of eks-blue are in service/,
    ],
    ['group-unsettled', { group: scalingGroup({ desired: 4 }) }, /scales in or levels its zones/],
  ])('%s: %j', (code, facts, message) => {
    const hold = groupHold({ ...well, ...facts });
    expect(hold?.code).toBe(code);
    expect(hold?.message).toMatch(message);
  });

  it('C91: holds while another machine of the group comes or goes', () => {
    for (const lifecycle of ['Pending', 'Pending:Wait', 'Terminating:Wait']) {
      const going = member({ id: 'i-00000000000000009', lifecycle });
      const group = scalingGroup({ members: [...scalingGroup().members, going] });
      expect(groupHold({ ...well, group })).toEqual({
        code: 'group-unsettled',
        message: `5 of 5 of eks-blue are in service; i-00000000000000009 ${lifecycle}`,
      });
    }
  });

  it('C91: does not mind that AZRebalance and others are suspended', () => {
    const suspended = ['AZRebalance', 'AlarmNotification', 'ScheduledActions', 'HealthCheck'];
    expect(groupHold({ ...well, group: scalingGroup({ suspended }) })).toBeUndefined();
  });

  it('lets a weighted group be more than is desired', () => {
    const members = scalingGroup().members.map((each) => ({ ...each, weight: 2 }));
    expect(inService(scalingGroup({ members }))).toBe(10);
    expect(groupHold({ ...well, group: scalingGroup({ members, desired: 9 }) })).toBeUndefined();
    expect(groupHold({ ...well, group: scalingGroup({ members, desired: 11 }) })?.code).toBe(
      'group-unsettled',
    );
  });
});
