import { describe, expect, it } from 'vitest';
import { KubernetesError, NodegapError } from '../../lib/errors.ts';
import { ScaledClock } from '../../local/clock.ts';
import type { AslDefinition, AslState } from '../../local/workflow/definition.ts';
import {
  LocalWorkflow,
  type TaskHandler,
  type WorkflowEvent,
} from '../../local/workflow/runner.ts';
import { DiscreteClock } from '../workflow/clock.ts';

const start = Date.parse('2026-11-29T12:00:00Z');
const input = { cluster: 'prod', node: 'n1', nodeUid: 'uid-n1', episode: 1, attempt: 1 };
const fn = (name: string) => `arn:aws:lambda:eu-west-1:111122223333:function:nodegap-${name}`;

/** A machine of one task between a start and the end, as CDK writes tasks. */
function oneTask(
  extra: Partial<AslState> = {},
  others: Record<string, AslState> = {},
): AslDefinition {
  return {
    StartAt: 'Work',
    States: {
      Work: {
        Type: 'Task',
        Resource: fn('work'),
        Parameters: { 'state.$': '$', 'execution.$': '$$.Execution.Id' },
        ResultPath: '$.work',
        TimeoutSeconds: 90,
        Next: 'Done',
        ...extra,
      },
      Done: { Type: 'Succeed' },
      ...others,
    },
  };
}

const caughtIt: AslState = {
  Type: 'Pass',
  Result: { caught: true },
  ResultPath: '$.answer',
  Next: 'Done',
};
const pause: AslState = { Type: 'Wait', SecondsPath: '$.work.waitSeconds', Next: 'Done' };

const token: Partial<AslState> = {
  Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
  Parameters: {
    FunctionName: fn('ask'),
    Payload: { 'state.$': '$', 'taskToken.$': '$$.Task.Token', question: 'replace' },
  },
  ResultPath: '$.answer',
  TimeoutSecondsPath: '$.patience',
};

function run(definition: AslDefinition, handlers: Record<string, TaskHandler>, extra: object = {}) {
  const clock = new DiscreteClock(start);
  const events: WorkflowEvent[] = [];
  let tokens = 0;
  const workflow = new LocalWorkflow({
    definition,
    handlers,
    clock,
    newToken: () => `token-${++tokens}`,
    onEvent: (event) => events.push(event),
  });
  const begin = async () => {
    await workflow.start('prod', 'e1-a1', { ...input, ...extra });
    await clock.run(0);
  };
  const arn = 'arn:aws:states:local:000000000000:execution:nodegap-prod:e1-a1';
  return { clock, workflow, events, arn, begin, path: () => pathOf(events) };
}

function pathOf(events: WorkflowEvent[]): string[] {
  return events.filter(({ kind }) => kind === 'entered').map(({ state }) => state);
}

describe('an execution', () => {
  it('calls the handler of each task with state and execution, and keeps its result', async () => {
    const calls: unknown[] = [];
    const { workflow, arn, begin, path } = run(oneTask(), {
      work: async (event) => {
        calls.push(event);
        return { next: 'done' };
      },
    });
    await begin();
    expect(calls).toEqual([{ state: input, execution: arn }]);
    expect(await workflow.result(arn)).toEqual({ ...input, work: { next: 'done' } });
    expect(path()).toEqual(['Work', 'Done']);
    expect(await workflow.status(arn)).toEqual({
      kind: 'ended',
      endedAt: start,
      status: 'SUCCEEDED',
    });
  });

  it('is started once under its name, also after it has ended', async () => {
    let calls = 0;
    const { workflow, begin } = run(oneTask(), { work: async () => ({ calls: ++calls }) });
    await begin();
    expect(await workflow.start('prod', 'e1-a1', input)).toBe('exists');
    expect(calls).toBe(1);
  });

  it('is not known under another name', async () => {
    const { workflow } = run(oneTask(), { work: async () => ({}) });
    expect(await workflow.status('arn:other')).toEqual({ kind: 'not-found' });
    await expect(workflow.result('arn:other')).rejects.toMatchObject({ code: 'NoExecution' });
  });

  it('follows a choice by what the handler answered', async () => {
    const definition = oneTask(
      { Next: 'Which' },
      {
        Which: {
          Type: 'Choice',
          Choices: [{ Variable: '$.work.next', StringEquals: 'bad', Next: 'Broken' }],
          Default: 'Done',
        },
        Broken: { Type: 'Fail', Error: 'Broken', Cause: 'as it was told' },
      },
    );
    const { workflow, arn, begin, path } = run(definition, { work: async () => ({ next: 'bad' }) });
    await begin();
    await expect(workflow.result(arn)).rejects.toThrow('as it was told');
    expect(path()).toEqual(['Work', 'Which', 'Broken']);
    expect(await workflow.status(arn)).toMatchObject({ status: 'FAILED' });
  });

  it('waits on the clock that it was given, as long as the state says', async () => {
    const definition = oneTask({ Next: 'Pause' }, { Pause: pause });
    const { clock, workflow, arn, begin } = run(definition, {
      work: async () => ({ waitSeconds: 7200 }),
    });
    await begin();
    await clock.run(7_199_000);
    expect(await workflow.status(arn)).toEqual({ kind: 'running' });
    await clock.run(2_000);
    expect(await workflow.status(arn)).toMatchObject({ endedAt: start + 7_200_000 });
    expect(await workflow.result(arn)).toMatchObject({ work: { waitSeconds: 7200 } });
  });

  it('refuses a machine that calls a function which is not there', async () => {
    const { workflow } = run(oneTask(), {});
    await expect(workflow.start('prod', 'e1-a1', input)).rejects.toMatchObject({
      code: 'NoHandler',
    });
  });
});

describe('a task that fails', () => {
  const retry = { ErrorEquals: ['Kubernetes.throttled'], IntervalSeconds: 10, MaxAttempts: 2 };
  const caught = { ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'CaughtIt' };

  it('is tried again for an error that is named, by the code of the error', async () => {
    let calls = 0;
    const { workflow, arn, begin, events } = run(oneTask({ Retry: [retry] }), {
      work: async () => {
        if (++calls < 3) throw new KubernetesError('throttled', 'slow down');
        return { calls };
      },
    });
    await begin();
    expect(await workflow.result(arn)).toMatchObject({ work: { calls: 3 } });
    expect(events.filter(({ kind }) => kind === 'retried')).toHaveLength(2);
  });

  it('leads to its catch when the tries are used up, with code and message', async () => {
    let calls = 0;
    const { workflow, arn, begin, path } = run(
      oneTask({ Retry: [retry], Catch: [caught] }, { CaughtIt: caughtIt }),
      {
        work: async () => {
          calls += 1;
          throw new KubernetesError('throttled', 'slow down');
        },
      },
    );
    await begin();
    const result = await workflow.result(arn);
    expect(calls).toBe(3);
    expect(result).toMatchObject({
      node: 'n1',
      failure: { Error: 'Kubernetes.throttled', Cause: expect.stringContaining('slow down') },
    });
    expect(path()).toEqual(['Work', 'CaughtIt', 'Done']);
  });

  it('is not tried again for another error', async () => {
    let calls = 0;
    const { workflow, arn, begin } = run(oneTask({ Retry: [retry] }), {
      work: async () => {
        calls += 1;
        throw new NodegapError('BadInput', 'no such thing');
      },
    });
    await begin();
    await expect(workflow.result(arn)).rejects.toThrow('no such thing');
    expect(calls).toBe(1);
  });
});

describe('a task token', () => {
  const definition = oneTask(
    {
      ...token,
      Catch: [{ ErrorEquals: ['States.Timeout'], ResultPath: '$.noAnswer', Next: 'CaughtIt' }],
    },
    { CaughtIt: caughtIt },
  );
  const ask = (patience: number) => {
    const asked: Record<string, unknown>[] = [];
    const handlers = {
      ask: async (event: Record<string, unknown>) => {
        asked.push(event);
        return { approval: 'id-1' };
      },
    };
    return { asked, ...run(definition, handlers, { patience }) };
  };

  it('goes to the handler, and the answer becomes the result', async () => {
    const { asked, workflow, arn, begin, clock } = ask(43_200);
    await begin();
    expect(asked).toEqual([
      { state: { ...input, patience: 43_200 }, question: 'replace', taskToken: 'token-1' },
    ]);
    await clock.run(3_600_000);
    expect(await workflow.answer('token-1', { decision: 'approve', by: 'ann' })).toBe(true);
    await clock.run(0);
    expect(await workflow.result(arn)).toMatchObject({
      answer: { decision: 'approve', by: 'ann' },
    });
  });

  it('takes one answer, and none that it does not know', async () => {
    const { workflow, begin } = ask(60);
    await begin();
    expect(await workflow.answer('token-9', {})).toBe(false);
    expect(await workflow.answer('token-1', { decision: 'deny' })).toBe(true);
    expect(await workflow.answer('token-1', { decision: 'approve' })).toBe(false);
  });

  it('times out on the clock, and takes no answer any more', async () => {
    const { workflow, arn, begin, clock, path } = ask(43_200);
    await begin();
    await clock.run(43_199_000);
    expect(await workflow.status(arn)).toEqual({ kind: 'running' });
    await clock.run(2_000);
    expect(await workflow.result(arn)).toMatchObject({ answer: { caught: true } });
    expect(await workflow.answer('token-1', { decision: 'approve' })).toBe(false);
    expect(path()).toEqual(['Work', 'CaughtIt', 'Done']);
  });
});

describe('an execution that is aborted', () => {
  it('ends at once in a wait, and goes no further', async () => {
    const definition = oneTask({ Next: 'Pause' }, { Pause: pause });
    const { clock, workflow, arn, begin, path } = run(definition, {
      work: async () => ({ waitSeconds: 60 }),
    });
    await begin();
    workflow.abort(arn);
    await clock.run(120_000);
    expect(await workflow.status(arn)).toMatchObject({ kind: 'ended', status: 'ABORTED' });
    expect(path()).not.toContain('Done');
    await expect(workflow.settled()).resolves.toBeUndefined();
  });

  it('waits for no answer any more', async () => {
    const { clock, workflow, arn, begin } = run(
      oneTask(token),
      { ask: async () => ({}) },
      { patience: 60 },
    );
    await begin();
    workflow.abort(arn);
    await clock.run(0);
    expect(await workflow.answer('token-1', { decision: 'approve' })).toBe(false);
    expect(await workflow.status(arn)).toMatchObject({ status: 'ABORTED' });
  });
});

describe('in real time', () => {
  it('gives no state a time limit of its own', async () => {
    // The interpreter's own is 60 real seconds, which a person's answer would not keep.
    const timers: number[] = [];
    const real = globalThis.setTimeout;
    globalThis.setTimeout = ((callback: () => void, ms: number) => {
      timers.push(ms);
      return real(callback, ms);
    }) as typeof setTimeout;
    try {
      const workflow = new LocalWorkflow({
        definition: oneTask(),
        handlers: { work: async () => ({}) },
        clock: new ScaledClock(start, 1),
        newToken: () => 'token',
      });
      await workflow.start('prod', 'e1-a1', input);
      await workflow.settled();
    } finally {
      globalThis.setTimeout = real;
    }
    expect(timers.filter((ms) => ms < 86_400_000)).toEqual([]);
  });
});
