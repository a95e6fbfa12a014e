import { describe, expect, it } from 'vitest';
import { answeringAccount } from './account.ts';
import { nodegap } from './run.ts';

const ann = 'arn:aws:sts::123456789012:assumed-role/ops/ann';
const done = { kind: 'done', message: 'cluster prod is paused, by ann: upgrade' };

describe('nodegap pause, resume, trip and reset', () => {
  it.each<[string[], Record<string, unknown>]>([
    [
      ['pause', '--cluster', 'prod', '--reason', 'upgrade', '--for', '1h30m'],
      { action: 'pause', cluster: 'prod', reason: 'upgrade', forSeconds: 5400 },
    ],
    [
      ['pause', '--pool', 'gpu', '--reason', 'drivers'],
      { action: 'pause', pool: 'gpu', reason: 'drivers' },
    ],
    [['resume', '--pool', 'gpu'], { action: 'resume', pool: 'gpu', reason: '' }],
    [
      ['trip', '--zone', 'eu-west-1a', '--reason', 'outage'],
      { action: 'trip', zone: 'eu-west-1a', reason: 'outage' },
    ],
    [
      ['reset', '--pool', 'general', '--reason', 'AMI mended'],
      { action: 'reset', pool: 'general', reason: 'AMI mended' },
    ],
  ])('%j is ordered in the name of whoever calls', async (argv, request) => {
    const { account, asked, targets } = answeringAccount(done);
    const run = await nodegap(argv, { account });
    expect(run).toEqual({ code: 0, out: `${done.message}\n`, err: '' });
    expect(asked).toEqual([{ ...request, by: ann }]);
    expect(targets).toEqual([{ functionName: 'nodegap-set-hold' }]);
  });

  it('pass on a warning, and are content when there was nothing to take back', async () => {
    const warned = answeringAccount({ ...done, warning: 'the last scan saw no pool gpuu' });
    const run = await nodegap(['pause', '--reason', 'r'], warned);
    expect(run).toMatchObject({ code: 0, err: 'warning: the last scan saw no pool gpuu\n' });
    const nothing = answeringAccount({ kind: 'nothing', message: 'cluster prod is not paused' });
    const resumed = await nodegap(['resume'], nothing);
    expect(resumed).toEqual({ code: 0, out: 'cluster prod is not paused\n', err: '' });
  });

  it('say in one line what is refused, and what to do', async () => {
    const { account } = answeringAccount({
      kind: 'refused',
      message: 'which cluster?',
      hint: '--cluster blue | green',
    });
    const run = await nodegap(['trip', '--reason', 'r'], { account });
    expect(run).toEqual({
      code: 1,
      out: '',
      err: 'error: which cluster?\nhint: --cluster blue | green\n',
    });
  });

  it.each([
    [['pause'], "error: required option '--reason <text>' not specified"],
    [['trip', '--pool', 'p'], "error: required option '--reason <text>' not specified"],
    [['pause', '--reason', 'r', '--for', '2 hours'], 'error: --for: "2 hours" is not a duration'],
    [['pause', '--reason', 'r', '--for', '0s'], 'error: --for: "0s" is no time at all'],
    [['pause', '--reason', ' '], 'error: --reason: is empty; say why, for others'],
    [
      ['trip', '--reason', 'r'.repeat(501)],
      'error: --reason: has 501 characters, 500 are the most',
    ],
    [
      ['reset', '--pool', 'p', '--zone', 'z'],
      "error: option '--pool <name>' cannot be used with option '--zone <name>'",
    ],
    [['pause', '--zone', 'a', '--reason', 'r'], "error: unknown option '--zone'"],
    [['resume', 'prod'], 'error: resume takes no argument "prod"'],
  ])('%j ends before anybody is asked', async (argv, message) => {
    const run = await nodegap(argv);
    expect(run).toMatchObject({ code: 1, out: '' });
    expect(run.err).toContain(message);
    expect(run.err.trim().split('\n').length).toBeLessThanOrEqual(2);
  });
});
