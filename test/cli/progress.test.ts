import { describe, expect, it } from 'vitest';
import { Progress } from '../../cli/terminal/progress.ts';
import { defaultConfig } from '../../lib/config/load.ts';
import type { RemediateEvent } from '../../local/remediate/events.ts';
import { MadeUpTerminal } from './terminal.ts';

const start = Date.parse('2026-11-29T12:00:00Z');
const minute = 60_000;
const { timings } = defaultConfig('prod', 'eu-west-1');
type Told = RemediateEvent extends infer E ? (E extends unknown ? Omit<E, 'at'> : never) : never;

function watched(
  options: { isTTY?: boolean; columns?: number; env?: Record<string, string> } = {},
) {
  const terminal = new MadeUpTerminal({ now: start, isTTY: false, ...options });
  const progress = new Progress(terminal, timings);
  return {
    terminal,
    progress,
    tell: (event: Told) => progress.tell({ at: terminal.clock.now(), ...event } as RemediateEvent),
  };
}

function answered(state: string, code: string, message: string, result = {}): Told {
  return { kind: 'answered', state, code, message, result: { code, message, ...result } };
}

const blocked =
  '1 pod still to leave: shop/db-0 (PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed), since 2026-11-29T12:00:00Z)';
const draining = answered('DrainNode', 'draining', blocked, {
  next: 'draining',
  startedAt: start,
  remaining: 1,
});

describe('the progress of an attempt', () => {
  it('C113: names the pod, its budget, what that allows and since when, and never falls silent', async () => {
    const { terminal, progress, tell } = watched();
    tell({ kind: 'entered', state: 'DrainNode', type: 'Task' });
    for (let passed = 0; passed < 10; passed += 1) {
      tell(draining);
      tell({ kind: 'entered', state: 'WaitForDrain', type: 'Wait' });
      await terminal.pass(minute);
      tell({ kind: 'entered', state: 'DrainNode', type: 'Task' });
    }
    progress.close();
    await terminal.pass(0);
    const lines = terminal.text.trimEnd().split('\n');
    expect(lines).toEqual([
      `12:00:00  DrainNode         ${blocked} (draining)`,
      `12:00:00  WaitForDrain      ${blocked}; until 2026-11-29T12:30:00Z at most`,
      `12:05:00  WaitForDrain      still, for 5m: ${blocked}, 25m left`,
      `12:10:00  WaitForDrain      still, for 10m: ${blocked}, 20m left`,
    ]);
  });

  it('tells one line a change, without a movement or a colour, where there is no terminal', async () => {
    const { terminal, progress, tell } = watched();
    const message = 'not yet seen in enough scans';
    for (let look = 1; look <= 3; look += 1) {
      tell({ kind: 'waiting', code: 'unconfirmed', message, until: start + look * minute });
    }
    tell({ kind: 'started', execution: 'e', episode: 1, attempt: 2 });
    tell(answered('ConfirmGap', 'gap-confirmed', 'aws-node: sandbox', { next: 'act' }));
    progress.close();
    await terminal.pass(0);
    expect(terminal.written.split('\n')).toEqual([
      '12:00:00  Confirmation      waits (unconfirmed): not yet seen in enough scans',
      '12:00:00  Attempt           2 of episode 1: e',
      '12:00:00  ConfirmGap        aws-node: sandbox (gap-confirmed)',
      '',
    ]);
  });

  it('takes an age that has grown for nothing new', async () => {
    const { terminal, progress, tell } = watched();
    tell(answered('CheckRecovery', 'hold-down', 'FailedCreatePodSandBox 4 s ago', {}));
    tell(answered('CheckRecovery', 'hold-down', 'FailedCreatePodSandBox 15 s ago', {}));
    progress.close();
    await terminal.pass(0);
    expect(terminal.text.trimEnd().split('\n')).toHaveLength(1);
  });

  it('says until when it is in hold-down', async () => {
    const { terminal, progress, tell } = watched();
    tell(answered('IsolateNode', 'isolated', 'cordoned', { at: start, next: 'isolated' }));
    tell({ kind: 'entered', state: 'WaitForRecovery', type: 'Wait' });
    progress.close();
    await terminal.pass(0);
    expect(terminal.text).toContain('hold-down: cordoned; until 2026-11-29T12:10:00Z at most');
  });

  it.each([80, 100])('moves one line in a terminal of %i columns, which fits', async (columns) => {
    const { terminal, progress, tell } = watched({ isTTY: true, columns, env: { NO_COLOR: '1' } });
    tell(draining);
    tell({ kind: 'entered', state: 'WaitForDrain', type: 'Wait' });
    await terminal.pass(minute);
    progress.close();
    await terminal.pass(0);
    expect(terminal.text).toContain('WaitForDrain: 1 pod still to leave');
    expect(terminal.text).toContain(', 30m left');
    expect(
      terminal.text
        .split(/\r?\n/)
        .flatMap((line) => line.split(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u))
        .filter((line) => line.length > columns),
    ).toEqual([]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
    expect(terminal.written).not.toMatch(/\u001b\[[\d;]*m/);
  });

  it('ends with outcome, steps, cure, time, evidence and what to do', async () => {
    const { terminal, progress, tell } = watched();
    tell({ kind: 'started', execution: 'e', episode: 1, attempt: 1 });
    tell(answered('DrainNode', 'drained', 'every pod has left', { evidence: '/evidence/1.json' }));
    await terminal.pass(42 * minute);
    tell(
      answered('Report', 'drain-blocked', 'nobody answered', {
        node: 'isolated',
        steps: 'isolate: did not cure, drain: not done (drain-blocked)',
        curedBy: '',
      }),
    );
    progress.end(
      { exitCode: 2, code: 'drain-blocked', message: 'nobody answered' },
      {
        cluster: 'prod',
        node: 'n1',
        commandOf: (command, node) => `nodegap ${command} ${node} --context prod`,
      },
    );
    await terminal.pass(0);
    const summary = terminal.text.slice(terminal.text.indexOf('drain-blocked: '));
    for (const text of [
      'drain-blocked: nobody answered',
      'n1: stays isolated',
      'isolate: did not cure, drain: not done (drain-blocked)',
      'took       42m',
      '/evidence/1.json (before the drain)',
      'See why: nodegap explain n1 --context prod',
      'Undo the isolation: nodegap release n1 --context prod',
    ]) {
      expect(summary).toContain(text);
    }
    // It would leave the taint, which only `release` takes off here.
    expect(summary).not.toContain('uncordon');
  });

  it('names its own command where a mail would name that of an account', async () => {
    const { terminal, progress, tell } = watched();
    tell(answered('Report', 'denied', 'ana said deny', { node: 'released', steps: '' }));
    const commandOf = (command: string, node: string) => `nodegap ${command} ${node}`;
    const options = { cluster: 'prod', node: 'n1', commandOf };
    progress.end({ exitCode: 2, code: 'denied', message: 'ana said deny' }, options);
    await terminal.pass(0);
    expect(terminal.text).toContain('unless the fault troubles you: nodegap remediate n1\n');
  });

  it('tells where evidence is kept here when it could not be saved', async () => {
    const { terminal, progress, tell } = watched();
    tell(answered('Report', 'evidence-unsaved', 'no room', { node: 'isolated', steps: '' }));
    const options = { cluster: 'prod', node: 'n1', commandOf: () => '' };
    progress.end({ exitCode: 2, code: 'evidence-unsaved', message: 'no room' }, options);
    await terminal.pass(0);
    expect(terminal.text).toContain('--evidence FOLDER');
    expect(terminal.text).not.toContain('cdk deploy');
  });

  it('names what cured, and asks for nothing after a repair', async () => {
    const { terminal, progress, tell } = watched();
    const report = { node: 'replaced', steps: 'isolate: did not cure, replace: cured' };
    tell(answered('Report', 'replaced', 'n2 took its place', { ...report, curedBy: 'replace' }));
    const options = { cluster: 'prod', node: 'n1', commandOf: () => '' };
    progress.end({ exitCode: 0, code: 'replaced', message: 'n2 took its place' }, options);
    await terminal.pass(0);
    expect(terminal.text).toMatch(/cured by +replace\n/);
    expect(terminal.text).toMatch(/next +Nothing\.\n$/);
  });
});
