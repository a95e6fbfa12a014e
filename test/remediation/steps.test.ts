import { describe, expect, it } from 'vitest';
import { curedBy, stepsOf, stepsText } from '../../lib/remediation/steps.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { stateOf, t0 } from './samples.ts';

const turn = (next: string, code = '', message = '') => ({ next, code, message });
const isolation = turn('isolated');
const restart = (code = 'restart-accepted') => ({ code, message: '', at: t0 });
const textOf = (parts: object) => stepsText(stepsOf(stateOf(parts as Partial<WorkflowState>)));

describe('stepsOf', () => {
  it.each<[string, object, string]>([
    ['nothing', { confirm: turn('report', 'young') }, ''],
    ['an isolation that was refused', { isolation: turn('release', 'paused') }, ''],
    ['isolation alone', { isolation, recovery: turn('recovered', 'recovered') }, 'isolate: cured'],
    [
      'isolation by an earlier attempt',
      { confirm: { ...turn('release', 'recovered'), isolated: true } },
      'isolate: cured',
    ],
    [
      'isolation that a guard ended',
      { isolation, recovery: turn('release', 'paused') },
      'isolate: not known whether it cured',
    ],
    [
      'isolation up to the ceiling',
      { isolation, recovery: turn('stay-isolated', 'ceiling-isolate') },
      'isolate: did not cure',
    ],
    [
      'isolation of a node of which nobody can tell',
      { isolation, recovery: { ...turn('stay-isolated', 'heartbeat-stale'), doubt: true } },
      'isolate: not known whether it cured',
    ],
    [
      'a restart',
      { isolation, restart: restart(), recovery: turn('recovered', 'recovered') },
      'isolate: did not cure, restart: cured',
    ],
    [
      'a restart that a budget refused',
      {
        isolation,
        restart: restart('restart-blocked-by-budget'),
        recovery: turn('recovered', 'recovered'),
      },
      'isolate: cured, restart: not done (restart-blocked-by-budget)',
    ],
    [
      'a drain that made room',
      { isolation, drain: turn('recheck'), recovery: turn('recovered', 'recovered') },
      'isolate: did not cure, drain: cured',
    ],
    [
      'a recovery in the drain',
      { isolation, drain: turn('release', 'recovered'), recovery: turn('drain') },
      'isolate: did not cure, drain: cured',
    ],
    [
      'a drain that nobody freed',
      { isolation, restart: restart(), drain: turn('blocked', 'drain-blocked') },
      'isolate: did not cure, restart: did not cure, drain: not done (drain-blocked)',
    ],
    [
      'a question that recovery made pointless',
      { isolation, answer: { decision: 'recovered' } },
      'isolate: cured',
    ],
    [
      'a replacement',
      {
        isolation,
        restart: restart(),
        drain: turn('drained'),
        replacement: turn('requested'),
        verification: turn('verified', 'replaced'),
      },
      'isolate: did not cure, restart: did not cure, drain: did not cure, replace: cured',
    ],
    [
      'a bad replacement',
      {
        isolation,
        drain: turn('drained'),
        replacement: turn('requested'),
        verification: turn('bad', 'bad-replacement'),
      },
      'isolate: did not cure, drain: did not cure, replace: did not cure',
    ],
    [
      'a replacement that cannot be verified',
      {
        isolation,
        drain: turn('drained'),
        replacement: turn('requested'),
        verification: turn('timed-out', 'verification-timed-out'),
      },
      'isolate: did not cure, drain: did not cure, replace: not known whether it cured',
    ],
    ['a failure', { isolation, failure: { Error: 'X' } }, 'isolate: not known whether it cured'],
  ])('%s', (_name, parts, expected) => {
    expect(textOf(parts)).toBe(expected);
  });
});

describe('curedBy', () => {
  it('names the step that cured, if one did', () => {
    expect(curedBy([])).toBeUndefined();
    expect(
      curedBy([
        { name: 'isolate', result: 'not-cured' },
        { name: 'restart', result: 'cured' },
      ]),
    ).toBe('restart');
    expect(curedBy([{ name: 'isolate', result: 'unknown' }])).toBeUndefined();
  });
});
