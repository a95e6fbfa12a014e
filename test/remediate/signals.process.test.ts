/** SIGINT, SIGTERM and SIGHUP in every state, before the replacement is committed and after. */
import { describe, expect, it } from 'vitest';
import { Stage } from './stage.ts';

const beforeCommit = [
  'before confirm-gap',
  'after confirm-gap',
  'after acquire-slot',
  'after isolate-node',
  'after check-recovery',
  'after restart-daemon-pod',
  'after request-approval',
  'after taint-node',
  'after drain-node',
];

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const signals = Object.keys(codes) as (keyof typeof codes)[];

async function opened(at = ''): Promise<{ stage: Stage; bad: string }> {
  const stage = new Stage();
  const kind = at.endsWith('restart-daemon-pod') ? 'never-ready' : 'sandbox';
  const bad = await stage.open({ yaml: 'approvals: {policy: always}' }, { kind });
  return { stage, bad };
}

describe.concurrent('a signal', () => {
  const cases = beforeCommit.map((at, index) => ({
    at,
    signal: signals[index % signals.length] ?? 'SIGINT',
  }));
  it.each(cases)(
    '$signal $at undoes what was done and says so',
    async ({ at, signal }) => {
      const { stage, bad } = await opened(at);
      try {
        const env = { TEST_AT: at, TEST_SIGNAL: signal };
        // The process waits for the handler that the signal came in, whose end is part of the story.
        const ended = await stage.run(['remediate', bad, '--yes'], env);
        expect(ended.code, ended.err).toBe(codes[signal]);
        expect(stage.traces(bad)).toEqual([]);
        expect(stage.slots()).toEqual([]);
        expect(stage.node(bad)?.metadata.deletionTimestamp).toBeUndefined();
        expect(ended.err).toContain(`${signal}: waiting for what is under way to end`);
        expect(ended.err).toContain('the attempt is recorded as interrupted');
        // A handler that began before the signal was delivered ends first.
        const isTouched = !/confirm-gap|acquire-slot/.test(at);
        if (isTouched) expect(ended.err).toContain(`${bad}: uncordoned`);
        const next = await stage.command(['scan']);
        expect(next.err).not.toContain('left over');
      } finally {
        await stage.close();
      }
    },
    120_000,
  );

  it.each(['after replace-node', 'before verify-replacement'])(
    '%s says that the point of no return is passed, and the replacement is verified',
    async (at) => {
      const { stage, bad } = await opened();
      try {
        const env = { TEST_AT: at, TEST_SIGNAL: 'SIGINT' };
        const ended = await stage.run(['remediate', bad, '--yes'], env);
        expect(ended.err).toContain('the point of no return is passed');
        expect(ended.err).toContain(`nodegap remediate ${bad} --resume`);
        expect(ended.code, ended.err).toBe(0);
        expect(stage.node(bad)).toBeUndefined();
        expect(stage.slots()).toEqual([]);
      } finally {
        await stage.close();
      }
    },
    120_000,
  );

  it('ends at once when it comes a second time, and names what is left', async () => {
    const { stage, bad } = await opened();
    try {
      const env = { TEST_AT: 'after replace-node', TEST_SIGNAL: 'SIGTERM' };
      const running = stage.start(['remediate', bad, '--yes'], env);
      await running.said('the point of no return is passed');
      running.signal('SIGINT');
      const ended = await running.ended;
      expect(ended.code, ended.err).toBe(130);
      expect(ended.err).toContain('ended at once by SIGINT');
      expect(ended.err).toContain(`nodegap remediate ${bad} --resume`);
      expect((await stage.command(['scan'])).err).toContain(`left over: ${bad}`);
      expect(await stage.command(['remediate', bad, '--resume'])).toMatchObject({ code: 0 });
    } finally {
      await stage.close();
    }
  }, 120_000);

  it('while the fault is being confirmed ends at once: nothing was done', async () => {
    const { stage, bad } = await opened();
    try {
      stage.configure('', 'act', '10m');
      const running = stage.start(['remediate', bad]);
      await running.said('unconfirmed');
      running.signal('SIGINT');
      const ended = await running.ended;
      expect(ended.code, ended.err).toBe(130);
      expect(ended.err).toContain(`nothing was done to ${bad}`);
      expect(stage.traces(bad)).toEqual([]);
    } finally {
      await stage.close();
    }
  }, 120_000);
});
