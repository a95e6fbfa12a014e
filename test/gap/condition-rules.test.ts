import { describe, expect, it } from 'vitest';
import { matchesPattern, ruleFor } from '../../lib/gap/condition-rules.ts';
import type { ConditionRule } from '../../lib/gap/model.ts';

const rule = (more: Partial<ConditionRule> = {}): ConditionRule => ({
  type: 'KernelDeadlock',
  status: 'True',
  reasons: [],
  minimumAgeMs: 0,
  ceiling: 'isolate',
  ...more,
});

describe('a pattern of reasons', () => {
  it.each([
    ['DockerHung', 'DockerHung', true],
    ['DockerHung', 'dockerhung', false],
    ['DockerHung', 'DockerHungAgain', false],
    ['Docker*', 'DockerHung', true],
    ['Docker*', 'Docker', true],
    ['*Hung', 'DockerHung', true],
    ['D*H*', 'DockerHung', true],
    ['**', '', true],
    ['NvidiaXID??Error', 'NvidiaXID79Error', true],
    ['NvidiaXID??Error', 'NvidiaXID7Error', false],
    ['A.B', 'AxB', false],
    ['*', 'Line\nbreak', true],
  ])('%s on %s: %s', (pattern, reason, expected) => {
    expect(matchesPattern(pattern, reason)).toBe(expected);
  });
});

describe('ruleFor', () => {
  it.each([
    ['the status', rule(), { status: 'True' }, true],
    ['another status', rule(), { status: 'False' }, false],
    ['another type', rule({ type: 'ReadonlyFilesystem' }), { status: 'True' }, false],
    ['a reason of several', rule({ reasons: ['A', 'B*'] }), { reason: 'BC' }, true],
    ['no reason of several', rule({ reasons: ['A', 'B*'] }), { reason: 'C' }, false],
    ['no reason at all', rule({ reasons: ['A'] }), {}, false],
  ])('looks at %s', (_what, wanted, said, matches) => {
    const condition = { type: 'KernelDeadlock', status: 'True', ...said };
    expect(ruleFor([wanted], condition)).toEqual(matches ? wanted : undefined);
  });

  it('takes the first that matches', () => {
    const [first, second] = [rule({ reasons: ['A'], ceiling: 'replace' }), rule()];
    const said = { type: 'KernelDeadlock', status: 'True' };
    expect(ruleFor([first, second], { ...said, reason: 'A' })).toBe(first);
    expect(ruleFor([first, second], { ...said, reason: 'B' })).toBe(second);
  });

  it.each([[[]], [['*']]])(
    'never takes PodStuckTerminating for a fault (reasons %j)',
    (reasons) => {
      const said = {
        type: 'ContainerRuntimeReady',
        status: 'False',
        reason: 'PodStuckTerminating',
      };
      const wanted = rule({ type: 'ContainerRuntimeReady', status: 'False', reasons });
      expect(ruleFor([wanted], said)).toBeUndefined();
      expect(ruleFor([wanted], { ...said, reason: 'ContainerRuntimeFailed' })).toBe(wanted);
    },
  );
});
