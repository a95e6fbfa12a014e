import { describe, expect, it } from 'vitest';
import type { DrainPlan } from '../../lib/remediation/drain-plan.ts';
import { drainGroups, personText } from '../../lib/report/drain-lines.ts';

function planWith(...names: string[]): DrainPlan {
  return {
    node: 'n1',
    nodeUid: 'uid-n1',
    isReady: true,
    evict: [],
    orphanDaemonPods: [],
    waitOnly: [],
    skip: [],
    needsApproval: names.map((name) => ({
      pod: { namespace: 'shop', name, uid: name },
      stage: 'workload',
      priority: 0,
      graceSeconds: 30,
      reasons: [],
    })),
    blockedByBudget: [],
    owners: [],
  };
}

describe('personText', () => {
  it.each([
    [planWith(), 'drain-blocked', undefined],
    [planWith('a'), 'drain-blocked', 'asks a person: 1 pod'],
    [planWith('a', 'b'), 'always', 'asks a person: 2 pods'],
    [planWith('a'), 'never', 'stops at 1 pod'],
  ] as const)('counts the pods of %o under the policy %s', (plan, policy, text) => {
    expect(personText(plan, policy)).toBe(text);
  });
});

describe('drainGroups', () => {
  it('says whose turn comes later', () => {
    const planned = (name: string, stage: 'workload' | 'cluster-critical' | 'node-local') => ({
      pod: { namespace: 'shop', name, uid: name },
      stage,
      priority: 0,
      graceSeconds: 30,
      warnings: [],
      budgets: [],
      counts: false,
    });
    const plan = planWith();
    plan.evict = [planned('web', 'workload'), planned('dns', 'cluster-critical')];
    plan.orphanDaemonPods = [planned('csi', 'node-local')];
    expect(drainGroups(plan).map(({ pods }) => pods)).toEqual([
      ['shop/web', 'shop/dns (after the workload)'],
      ['shop/csi (last)'],
    ]);
  });
});
