import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import type { Gap } from '../../lib/gap/model.ts';
import { type PlanInput, planArrow, planFor } from '../../lib/report/plan.ts';
import { gapOf } from '../remediation/samples.ts';

function steps(gap: Partial<Gap> = {}, input: Partial<PlanInput> & { canary?: boolean } = {}) {
  const { canary = false, ...rest } = input;
  return planFor({
    verdict: { kind: 'actionable', gap: gapOf(gap), canary },
    config: defaultConfig('prod', 'eu-west-1'),
    kind: 'karpenter',
    claim: { name: 'general-abc' },
    taint: { taint: false, reason: 'the taint would keep out kube-system/aws-node' },
    ...rest,
  });
}

const names = (...args: Parameters<typeof steps>) => steps(...args).map(({ name }) => name);

describe('planFor', () => {
  it.each<[string, Partial<Gap>, string]>([
    ['sandbox', { cause: 'sandbox' }, 'isolate → drain → replace'],
    ['crash-loop', { cause: 'crash-loop' }, 'isolate → restart pod → drain → replace'],
    [
      'unschedulable-resources',
      { cause: 'unschedulable-resources' },
      'isolate → drain → recheck → replace',
    ],
    ['a ceiling of isolate', { cause: 'sandbox', ceiling: 'isolate' }, 'isolate'],
  ])('climbs for %s as the workflow does', (_what, gap, arrow) => {
    expect(planArrow(steps(gap))).toBe(arrow);
  });

  it('says of the drain what is known of it', () => {
    expect(planArrow(steps({ cause: 'sandbox' }), 'asks a person: 1 pod')).toBe(
      'isolate → drain (asks a person: 1 pod) → replace',
    );
  });

  it('taints after hold-down, before the drain', () => {
    expect(names({ cause: 'sandbox' })).toEqual([
      'isolate',
      'wait',
      'taint',
      'drain',
      'replace',
      'verify',
    ]);
  });

  it('taints after the drain when the drain may cure the gap', () => {
    expect(names({ cause: 'unschedulable-ports' })).toEqual([
      'isolate',
      'wait',
      'drain',
      'recheck',
      'taint',
      'replace',
      'verify',
    ]);
  });

  it('taints at once when every required DaemonSet tolerates it', () => {
    const taint = { taint: true, reason: 'every required DaemonSet tolerates the taint' };
    const plan = steps({ cause: 'sandbox' }, { taint });
    expect(plan.map(({ name }) => name)).not.toContain('taint');
    expect(plan[0]?.detail).toContain('nodegap.dev/daemonset-gap:NoSchedule at once');
  });

  it('restarts the pod of a canary first', () => {
    expect(names({ cause: 'image-pull', blame: 'unclear' }, { canary: true })).toContain(
      'restart pod',
    );
  });

  it('asks before the drain when the policy is always', () => {
    const config = defaultConfig('prod', 'eu-west-1');
    config.approvals.policy = 'always';
    const plan = names({ cause: 'sandbox' }, { config });
    expect(plan.indexOf('ask')).toBe(plan.indexOf('taint') - 1);
  });

  it.each<[Partial<Gap>, boolean]>([
    [{ cause: 'sandbox', pool: 'db' }, true],
    [{ cause: 'sandbox', pool: 'web' }, false],
    [{ cause: 'sandbox' }, false],
    [{ cause: 'volume', pool: 'web' }, true],
  ])('asks before the drain of %o by the policy of its pool and cause: %s', (gap, asks) => {
    const config = defaultConfig('prod', 'eu-west-1');
    config.approvals.pools = { db: 'always' };
    config.approvals.causes = { volume: 'always' };
    expect(names(gap, { config }).includes('ask')).toBe(asks);
  });

  it.each<[string, Partial<PlanInput>, RegExp]>([
    ['a machine in no known group', { kind: 'unknown', claim: 'none' }, /by a person/],
    ['a self-managed node', { kind: 'self-managed' }, /kind self-managed are replaced by a person/],
    ['a node without a NodeClaim', { claim: 'none' }, /has no NodeClaim/],
  ])('stops at isolation for %s', (_what, input, why) => {
    const plan = steps({ cause: 'sandbox' }, input);
    expect(planArrow(plan)).toBe('isolate → hand to a person');
    expect(plan.at(-1)?.detail).toMatch(why);
  });

  it('ends the instance of a managed node group through its group', () => {
    const plan = steps({ cause: 'sandbox' }, { kind: 'managed-node-group', claim: 'none' });
    expect(planArrow(plan)).toBe('isolate → drain → replace');
    expect(plan.find(({ name }) => name === 'replace')?.detail).toMatch(/Auto Scaling group/);
  });

  it('has no steps for EKS Auto Mode, which is left to its own repair', () => {
    expect(steps({ cause: 'sandbox' }, { kind: 'auto-mode' })).toEqual([]);
  });

  it('names the NodeClaim, or says that it is not known', () => {
    const replace = (input: Partial<PlanInput>) =>
      steps({ cause: 'sandbox' }, input).find(({ name }) => name === 'replace')?.detail;
    expect(replace({})).toBe('delete NodeClaim general-abc');
    expect(replace({ claim: 'unread' })).toBe('delete its NodeClaim');
  });

  it('has no steps for a cause that is not cured by touching the node', () => {
    expect(steps({ cause: 'config-error' })).toEqual([]);
  });
});
