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
      'a cap on parallel work: due at once, for the scan to ask when a place is free',
      {
        confirm: confirm('act', 'gap-confirmed'),
        slot: slot('refused', 'cluster-parallel-cap'),
      },
      { code: 'cluster-parallel-cap', voice: 'quiet', node: 'untouched', nextAttempt: t0 },
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
      'a right that is missing, before anything was done: people are to mend it',
      {
        confirm: confirm('act', 'gap-confirmed'),
        isolation: { ...isolation, ...turn('release', 'rights-missing') },
        release: released,
      },
      {
        code: 'rights-missing',
        node: 'untouched',
        voice: 'alert',
        nextAttempt: t0 + 30 * minute,
        closesEpisode: false,
      },
    ],
    [
      'a refusal before anything was done',
      {
        confirm: confirm('act', 'gap-confirmed'),
        isolation: { ...isolation, ...turn('release', 'paused') },
        release: released,
      },
      { code: 'paused', node: 'untouched', voice: 'notify' },
    ],
    [
      'the same for a node that an earlier attempt had isolated',
      {
        confirm: { ...confirm('act', 'gap-confirmed'), isolated: true },
        isolation: { ...isolation, ...turn('release', 'rights-missing') },
        release: released,
      },
      { code: 'rights-missing', node: 'released', voice: 'alert' },
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
    [
      'a right that RBAC does not give: what to apply, since no hint outlives a Lambda',
      {
        isolation,
        failure: {
          Error: 'Kubernetes.forbidden',
          Cause: '{"errorMessage":"not allowed to list nodes: nodes is forbidden"}',
        },
      },
      {
        code: 'failed',
        message:
          'Kubernetes.forbidden: not allowed to list nodes: nodes is forbidden (apply what `nodegap rbac` prints)',
      },
    ],
    [
      'a failure as Lambda words it',
      {
        isolation,
        failure: {
          Error: 'E',
          Cause: '{"errorType":"E","errorMessage":"what is\\nwrong","trace":["E: what is"]}',
        },
      },
      { code: 'failed', node: 'isolated', voice: 'alert', message: 'E: what is' },
    ],
    [
      'a failure whose cause only begins like that',
      { isolation, failure: { Error: 'E', Cause: '{"errorType":' } },
      { code: 'failed', node: 'isolated', voice: 'alert', message: 'E: {"errorType":' },
    ],
  ];
  const more: typeof table = [
    [
      'a doubt about a node that is isolated already: an alert, and it stays so',
      { confirm: { ...confirm('report', 'heartbeat-stale'), isolated: true } },
      { code: 'heartbeat-stale', node: 'isolated', voice: 'alert', nextAttempt: t0 + 60 * minute },
    ],
    [
      'a cause that is lost on a node that is isolated already: an alert, and it stays so',
      { confirm: { ...confirm('report', 'cause-unknown'), isolated: true } },
      { code: 'cause-unknown', node: 'isolated', voice: 'alert', nextAttempt: t0 + 60 * minute },
    ],
    [
      'a deferral of a node that is isolated already: quietly',
      { confirm: { ...confirm('report', 'hold-up'), isolated: true } },
      { code: 'hold-up', node: 'isolated', voice: 'quiet', nextAttempt: t0 + 5 * minute },
    ],
    [
      'a late event for a node that is gone: no news',
      { confirm: confirm('report', 'node-gone') },
      { code: 'node-gone', node: 'gone', voice: 'quiet', closesEpisode: true },
    ],
    [
      'an execution that was restarted after its attempt: no news',
      { confirm: confirm('report', 'superseded') },
      { code: 'superseded', voice: 'quiet' },
    ],
    [
      'a node that became NotReady, which is still there',
      { isolation, recovery: recovery('release', 'node-not-ready'), release: released },
      { code: 'node-not-ready', node: 'released' },
    ],
    [
      'a mark that someone took off: no further attempt in this episode',
      { isolation, recovery: recovery('release', 'mark-missing'), release: released },
      { code: 'mark-missing', nextAttempt: 'never', closesEpisode: false },
    ],
    [
      'an isolation that could not be undone: the node is isolated still',
      { isolation, recovery: recovery('release', 'paused'), release: turn('', 'left-alone') },
      { node: 'isolated' },
    ],
    [
      'a breaker that opened in hold-down, with its scope',
      {
        isolation,
        recovery: { ...recovery('release', 'breaker-open'), scopeKind: 'pool', scopeName: 'p' },
        release: released,
      },
      { nextAttempt: 'when-breaker-closes', scope: { kind: 'pool', name: 'p' } },
    ],
    [
      'a verification that timed out: the node is leaving, which must be seen to',
      { isolation, verification: turn('timed-out', 'verification-timed-out') },
      { code: 'verification-timed-out', node: 'leaving', voice: 'alert' },
    ],
    [
      'a failure after the commit',
      { isolation, replacement: turn('requested', 'x'), failure: { Error: 'E' } },
      { code: 'failed', node: 'leaving' },
    ],
    [
      'a failure after the isolation was undone',
      { isolation, release: released, failure: { Error: 'E' } },
      { code: 'failed', node: 'released' },
    ],
    [
      'a drain that may not ask anybody',
      { isolation, drain: turn('stay-isolated', 'drain-blocked') },
      { code: 'drain-blocked', node: 'isolated', voice: 'alert' },
    ],
    [
      'a node that keeps flapping right before the taint',
      { isolation, taint: turn('stay-isolated', 'flapping') },
      { code: 'flapping', node: 'isolated', voice: 'alert' },
    ],
  ];
  it.each([...table, ...more])('reports %s', (_name, state, expected) => {
    expect(outcomeOf(stateOf(state as Partial<WorkflowState>), undefined, t0)).toMatchObject(
      expected,
    );
  });

  it('tries again what failed, later each time, up to an hour', () => {
    const after = (attempt: number) =>
      outcomeOf(stateOf({ attempt, failure: { Error: 'E' } }), undefined, t0).nextAttempt;
    expect([1, 2, 3, 4, 5, 50].map(after)).toEqual(
      [5, 10, 20, 40, 60, 60].map((minutes) => t0 + minutes * minute),
    );
  });
});
