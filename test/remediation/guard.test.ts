import { describe, expect, it } from 'vitest';
import { guard } from '../../lib/remediation/guard.ts';
import type { Judgement } from '../../lib/remediation/judge.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { MarkReading } from '../../lib/safety/ownership.ts';
import type { Slot } from '../../lib/safety/slots.ts';
import { mark } from './builders.ts';
import { actOn, gapOf, stateOf, t0 } from './samples.ts';

const execution = mark.execution;
const slot: Slot = {
  cluster: 'prod',
  node: 'n1',
  nodeUid: 'uid-n1',
  execution,
  episode: 1,
  attempt: 1,
  fence: 7,
  acquiredAt: t0,
};
const acquired = {
  next: 'acquired',
  code: '',
  message: '',
  fence: 7,
  waitSeconds: 1,
  waitingSince: 0,
  retryAt: 0,
} satisfies WorkflowState['slot'];
const isolated = {
  next: 'isolated',
  code: '',
  message: '',
  at: t0,
  tainted: false,
  waitSeconds: 1,
} satisfies WorkflowState['isolation'];
const ours: MarkReading = { kind: 'ours', mark };
const act = actOn(gapOf());

function decide(
  facts: { judgement?: Judgement; slots?: Slot[]; mark?: MarkReading },
  state: Partial<WorkflowState> = {},
) {
  const situation = {
    judgement: facts.judgement ?? act,
    slots: facts.slots ?? [slot],
    mark: facts.mark ?? { kind: 'none' as const },
  };
  return guard(situation, stateOf({ slot: acquired, ...state }), execution);
}

describe('guard', () => {
  it('lets the owner of the slot act on a fault that is still there', () => {
    expect(decide({})).toEqual({ kind: 'go', act, fence: 7 });
  });

  it('refuses without a parallel place, which a late task may have given up', () => {
    const parked = [{ ...slot, parkedAt: t0 }];
    expect(decide({ slots: parked })).toMatchObject({ kind: 'refused', code: 'slot-parked' });
  });

  const lost: [string, Slot[], Partial<WorkflowState>][] = [
    ['nobody has the slot', [], {}],
    ['the slot is of another node', [{ ...slot, nodeUid: 'uid-n2' }], {}],
    ['another execution has it', [{ ...slot, execution: 'other' }], {}],
    ['it was taken for another episode', [{ ...slot, episode: 2 }], {}],
    ['it was taken anew since', [{ ...slot, fence: 8 }], {}],
    ['this execution never had one', [slot], { slot: { ...acquired, fence: 0 } }],
  ];
  it.each(lost)('refuses when %s', (_name, slots, state) => {
    expect(decide({ slots }, state)).toMatchObject({ kind: 'refused', code: 'slot-lost' });
  });

  it('knows the fence from the last time that the place was taken', () => {
    const state = { slot: { ...acquired, fence: 3 }, place: acquired };
    expect(decide({}, state)).toMatchObject({ kind: 'go' });
    expect(decide({}, { place: { ...acquired, fence: 0 } })).toMatchObject({ kind: 'go' });
  });

  it('passes on what the judgement says', () => {
    expect(decide({ judgement: { kind: 'healthy', message: 'all Ready' } })).toMatchObject({
      kind: 'healthy',
      code: 'recovered',
    });
    const wait: Judgement = { kind: 'wait', code: 'young', message: 'young', doubt: true };
    expect(decide({ judgement: wait })).toEqual(wait);
    const gone: Judgement = { kind: 'gone', code: 'node-gone', message: 'gone' };
    expect(decide({ judgement: gone })).toMatchObject({ kind: 'refused', code: 'node-gone' });
    const scope = { kind: 'pool' as const, name: 'general' };
    const open: Judgement = { kind: 'refuse', code: 'breaker-open', message: 'open', scope };
    expect(decide({ judgement: open })).toEqual({
      kind: 'refused',
      code: 'breaker-open',
      message: 'open',
      scope,
    });
  });

  describe('from isolation on', () => {
    const state = { isolation: isolated };

    it('asks for the mark of this execution', () => {
      expect(decide({ mark: ours }, state).kind).toBe('go');
      expect(decide({ mark: { kind: 'none' } }, state)).toMatchObject({ code: 'mark-missing' });
      const other: MarkReading = { kind: 'ours', mark: { ...mark, execution: 'other' } };
      expect(decide({ mark: other }, state)).toMatchObject({ code: 'other-execution' });
    });

    it('takes a missing mark for a veto, also while the node is well', () => {
      const judgement: Judgement = { kind: 'healthy', message: 'all Ready' };
      expect(decide({ judgement }, state)).toMatchObject({ code: 'mark-missing' });
    });

    it('puts a veto and a node that is gone before the mark', () => {
      const judgement: Judgement = { kind: 'gone', code: 'node-gone', message: 'gone' };
      expect(decide({ judgement }, state)).toMatchObject({ code: 'node-gone' });
    });
  });

  describe('while the blame is unclear', () => {
    const canary = { ...act, canaryFor: 'kube-system/aws-node' };

    it('lets only the canary of that DaemonSet go on', () => {
      const slots = [{ ...slot, canaryFor: 'kube-system/aws-node' }];
      expect(decide({ judgement: canary, slots }).kind).toBe('go');
      expect(decide({ judgement: canary })).toMatchObject({ code: 'canary-not-taken' });
      const another = [{ ...slot, canaryFor: 'logging/fluent-bit' }];
      expect(decide({ judgement: canary, slots: another })).toMatchObject({
        code: 'canary-not-taken',
      });
    });

    it('lets a canary go on whose blame has become clear', () => {
      const slots = [{ ...slot, canaryFor: 'kube-system/aws-node' }];
      expect(decide({ slots }).kind).toBe('go');
    });
  });
});
