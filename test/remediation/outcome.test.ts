import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../lib/remediation/outcome.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { minute, stateOf, t0 } from './samples.ts';

const turn = (next: string, code: string) => ({ next, code, message: `${code} it is` });
const confirm = (next: string, code: string) => ({
  ...turn(next, code),
  daemonSets: 'a/b',
  cause: 'not-ready',
  blame: 'node',
  since: t0,
  configSha: 'sha',
});
const slot = (next: string, code: string, retryAt = 0) => ({
  ...turn(next, code),
  fence: 1,
  waitSeconds: 60,
  waitingSince: 0,
  retryAt,
});
const isolation = { ...turn('isolated', 'isolated'), at: t0, tainted: false, waitSeconds: 60 };
const recovery = (next: string, code: string) => ({
  ...turn(next, code),
  polls: 1,
  healthySince: 0,
  approvalSeconds: 60,
});
const released = turn('', 'released');
const day = 24 * 60 * minute;

describe('outcomeOf', () => {
  const table: [string, object, object][] = [
    [
      'a node that had recovered before anything was done',
      { confirm: confirm('report', 'recovered') },
      {
        code: 'recovered',
        node: 'untouched',
        voice: 'quiet',
        nextAttempt: t0 + 5 * minute,
        closesEpisode: false,
      },
    ],
    [
      'a deferral: soon again, and no notice',
      { confirm: confirm('report', 'young') },
      { code: 'young', voice: 'quiet', nextAttempt: t0 + 5 * minute },
    ],
    [
      'mode observe: told once a day',
      { confirm: confirm('report', 'mode-observe') },
      { code: 'mode-observe', voice: 'notify', nextAttempt: t0 + day },
    ],
    [
      'an open breaker: no notice of its own',
      { confirm: confirm('act', 'gap-confirmed'), slot: slot('refused', 'breaker-open') },
      { code: 'breaker-open', voice: 'quiet', nextAttempt: 'when-breaker-closes' },
    ],
    [
      'a breaker that says when it closes',
      {
        confirm: confirm('act', 'gap-confirmed'),
        slot: slot('refused', 'breaker-cooling', t0 + minute),
      },
      { nextAttempt: t0 + minute },
    ],
    [
      'a recovery in hold-down',
      { isolation, recovery: recovery('recovered', 'recovered'), release: released },
      { code: 'recovered', node: 'released', voice: 'notify', closesEpisode: true },
    ],
    [
      'a refusal in hold-down',
      { isolation, recovery: recovery('release', 'paused'), release: released },
      { code: 'paused', node: 'released', voice: 'notify' },
    ],
    [
      'an uncordon by a person: no further attempt in this episode',
      { isolation, recovery: recovery('release', 'human-uncordoned'), release: released },
      { code: 'human-uncordoned', nextAttempt: 'never', closesEpisode: false },
    ],
    [
      'a denial: a day of rest',
      {
        isolation,
        recovery: recovery('ask', 'approval'),
        answer: { decision: 'deny', by: 'ann' },
        release: released,
      },
      { code: 'denied', node: 'released', nextAttempt: t0 + day },
    ],
    [
      'no answer: a denial',
      {
        isolation,
        recovery: recovery('ask', 'approval'),
        answer: { decision: 'none', by: 'nobody' },
        release: released,
      },
      { code: 'denied', nextAttempt: t0 + day },
    ],
    [
      'a ceiling of isolate: the node stays isolated',
      { isolation, recovery: recovery('stay-isolated', 'ceiling-isolate') },
      { code: 'ceiling-isolate', node: 'isolated', voice: 'alert' },
    ],
    [
      'a drain that nobody freed',
      { isolation, drain: turn('blocked', 'drain-blocked') },
      { code: 'drain-blocked', node: 'isolated', voice: 'alert' },
    ],
    [
      'a verified replacement',
      { isolation, verification: turn('verified', 'replaced') },
      { code: 'replaced', node: 'replaced', voice: 'notify', nextAttempt: 'never' },
    ],
    [
      'a bad replacement',
      { isolation, verification: turn('bad', 'bad-replacement') },
      { code: 'bad-replacement', voice: 'alert' },
    ],
    [
      'a node that vanished under way',
      { isolation, recovery: recovery('release', 'node-gone'), release: released },
      { code: 'node-gone', node: 'gone', nextAttempt: 'never' },
    ],
    [
      'a failure in hold-down: the node stays isolated, for the next scan',
      { isolation, failure: { Error: 'Kubernetes.forbidden', Cause: 'line one\nline two' } },
      {
        code: 'failed',
        node: 'isolated',
        voice: 'alert',
        message: 'Kubernetes.forbidden: line one',
      },
    ],
  ];
  it.each(table)('reports %s', (_name, state, expected) => {
    expect(outcomeOf(stateOf(state as Partial<WorkflowState>), undefined, t0)).toMatchObject(
      expected,
    );
  });
});
