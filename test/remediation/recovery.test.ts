import { describe, expect, it } from 'vitest';
import type { Judgement } from '../../lib/remediation/judge.ts';
import { decideRecovery, type RecoveryFacts } from '../../lib/remediation/recovery.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { actOn, gapOf, minute, stateOf, t0, timings } from './samples.ts';

const isolation = {
  next: 'isolated',
  code: 'isolated',
  message: '',
  at: t0,
  tainted: false,
  waitSeconds: 60,
} satisfies WorkflowState['isolation'];

function factsOf(judgement: Judgement, overrides: Partial<RecoveryFacts> = {}): RecoveryFacts {
  return {
    judgement,
    state: stateOf({ isolation }),
    timings,
    approvals: 'never',
    irreplaceable: null,
    restartable: false,
    ...overrides,
  };
}

const drained = {
  next: 'recheck',
  code: 'drained',
  message: '',
  firstAt: t0 + 11 * minute,
  startedAt: t0 + 11 * minute,
  drainedAt: t0 + 12 * minute,
  passes: 3,
  healthySince: 0,
  remaining: 0,
  waitSeconds: 15,
  approvalSeconds: 1,
} satisfies WorkflowState['drain'];

describe('decideRecovery', () => {
  const sandbox = actOn(gapOf({ cause: 'sandbox' }));
  const notReady = actOn(gapOf({ cause: 'node-not-ready' }));
  const crash = actOn(gapOf({ cause: 'crash-loop' }));
  const noRoom = actOn(gapOf({ cause: 'unschedulable-resources' }));
  const doubtful: Judgement = { kind: 'wait', code: 'claims-unreadable', message: '', doubt: true };
  const healthy: Judgement = { kind: 'healthy', message: 'all Ready' };
  const waiting: Judgement = { kind: 'wait', code: 'young', message: 'young', doubt: false };
  const refused: Judgement = { kind: 'refuse', code: 'paused', message: 'paused' };

  const table: [string, RecoveryFacts, number, string, string][] = [
    ['waits in hold-down', factsOf(sandbox), 9, 'wait', 'hold-down'],
    ['goes on when hold-down is over', factsOf(sandbox), 10, 'taint', 'hold-down-over'],
    ['waits longer for a node that is not Ready', factsOf(notReady), 29, 'wait', 'hold-down'],
    ['goes on after that hold-down', factsOf(notReady), 30, 'taint', 'hold-down-over'],
    [
      'does not restart a pod of a node that is not Ready',
      factsOf(notReady, { restartable: true }),
      1,
      'wait',
      'hold-down',
    ],
    ['restarts a pod first, once', factsOf(crash, { restartable: true }), 1, 'restart', 'restart'],
    ['does not restart what cannot come back', factsOf(crash), 1, 'wait', 'hold-down'],
    [
      'restarts before a canary is taken',
      factsOf(actOn(gapOf({ cause: 'image-pull' }), { canaryFor: 'a/b' }), { restartable: true }),
      1,
      'restart',
      'restart',
    ],
    ['releases on a refusal at once', factsOf(refused), 1, 'release', 'paused'],
    ['waits while a verdict is not ripe', factsOf(waiting), 30, 'wait', 'young'],
    ['drains first when room may cure', factsOf(noRoom), 10, 'drain', 'drain-for-room'],
    [
      'rechecks a pod grace after that drain',
      factsOf(noRoom, { state: stateOf({ isolation, drain: drained }) }),
      16,
      'wait',
      'hold-down',
    ],
    [
      'taints when room did not cure',
      factsOf(noRoom, { state: stateOf({ isolation, drain: drained }) }),
      17,
      'taint',
      'hold-down-over',
    ],
    [
      'asks when the policy says so',
      factsOf(sandbox, { approvals: 'always' }),
      10,
      'ask',
      'approval',
    ],
    [
      'does not ask twice',
      factsOf(sandbox, {
        approvals: 'always',
        state: stateOf({ isolation, answer: { decision: 'approve', by: 'ann' } }),
      }),
      10,
      'taint',
      'hold-down-over',
    ],
    [
      'stops at the ceiling isolate',
      factsOf({ ...sandbox, reach: 'isolate' }),
      10,
      'stay-isolated',
      'ceiling-isolate',
    ],
    [
      'restarts no pod under the ceiling isolate',
      factsOf({ ...crash, reach: 'isolate' }, { restartable: true }),
      1,
      'wait',
      'hold-down',
    ],
    [
      'stops at isolation when the node cannot be replaced',
      factsOf(sandbox, { irreplaceable: { code: 'not-replaceable', message: 'bare EC2' } }),
      10,
      'stay-isolated',
      'not-replaceable',
    ],
  ];
  it.each(table)('%s', (_name, facts, minutes, next, code) => {
    expect(decideRecovery(facts, t0 + minutes * minute)).toMatchObject({ next, code });
  });

  it('gives a restarted pod its grace, also past hold-down', () => {
    const restart = { code: 'restarted', message: '', at: t0 + 8 * minute };
    const facts = factsOf(crash, { restartable: true, state: stateOf({ isolation, restart }) });
    expect(decideRecovery(facts, t0 + 12 * minute).next).toBe('wait');
    expect(decideRecovery(facts, t0 + 13 * minute).next).toBe('taint');
  });

  it('calls a node recovered only when it has been healthy for hold-up', () => {
    const first = decideRecovery(factsOf(healthy), t0 + minute);
    expect(first).toMatchObject({ next: 'wait', code: 'hold-up', healthySince: t0 + minute });
    const later = factsOf(healthy, { state: stateOf({ isolation, recovery: first }) });
    expect(decideRecovery(later, t0 + 2 * minute).next).toBe('wait');
    expect(decideRecovery(later, t0 + 3 * minute)).toMatchObject({ next: 'recovered' });
  });

  it('starts hold-up anew when the fault comes back', () => {
    const first = decideRecovery(factsOf(healthy), t0 + minute);
    const again = decideRecovery(
      factsOf(sandbox, { state: stateOf({ isolation, recovery: first }) }),
      t0 + 2 * minute,
    );
    expect(again).toMatchObject({ next: 'wait', healthySince: 0, polls: 2 });
  });

  it.each<[string, Judgement, object]>([
    ['with a release when the fault never ripens', waiting, { next: 'release', code: 'young' }],
    [
      'with the node isolated when nobody can tell',
      doubtful,
      { next: 'stay-isolated', code: 'claims-unreadable' },
    ],
  ])('ends a wait that no rule ends, %s', (_name, judgement, expected) => {
    let state = stateOf({ isolation });
    for (let poll = 1; poll < 60; poll++) {
      const recovery = decideRecovery(factsOf(judgement, { state }), t0 + poll * minute);
      if (recovery.next !== 'wait') {
        expect(recovery).toMatchObject({ ...expected, polls: poll });
        return;
      }
      state = stateOf({ isolation, recovery });
    }
    throw new Error('it waited for ever');
  });

  it('takes a person who lets a drain go on for consent to the drain', () => {
    for (const decision of ['approve', 'retry', 'proceed'] as const) {
      const state = stateOf({ isolation, answer: { decision, by: 'ann' } });
      const facts = factsOf(sandbox, { approvals: 'always', state });
      expect(decideRecovery(facts, t0 + 10 * minute).next).toBe('taint');
    }
  });

  it('gives a pod time after a drain for room only, not after one that led back here', () => {
    const drain = { ...drained, next: 'drained' as const };
    const facts = factsOf(sandbox, { state: stateOf({ isolation, drain }) });
    expect(decideRecovery(facts, t0 + 13 * minute).next).toBe('taint');
  });

  it('names the scope of a breaker that refuses', () => {
    const scope = { kind: 'zone' as const, name: 'eu-west-1a' };
    const refusal: Judgement = { kind: 'refuse', code: 'breaker-open', message: '', scope };
    expect(decideRecovery(factsOf(refusal), t0)).toMatchObject({
      next: 'release',
      scopeKind: 'zone',
      scopeName: 'eu-west-1a',
    });
  });
});
