import { Logger } from '@aws-lambda-powertools/logger';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog, withoutSecrets } from '../../functions/shared/log.ts';
import { taskHandler } from '../../functions/shared/task.ts';
import { KubernetesError } from '../../lib/errors.ts';

afterEach(() => vi.restoreAllMocks());

/** What was printed, each line as the object that it must be. */
function printed(print: (log: ReturnType<typeof createLog>) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  for (const method of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((line: string) => void lines.push(line));
  }
  // Without dev mode and with the console as it is: as in Lambda.
  const logger = new Logger({ serviceName: 'nodegap' });
  Reflect.set(logger, 'console', console);
  print(createLog(logger));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a log line', () => {
  it('is one object with the fields that it was given', () => {
    const lines = printed((log) => log.info('scanned', { cluster: 'prod', nodes: 3 }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'INFO',
      message: 'scanned',
      cluster: 'prod',
      nodes: 3,
    });
  });

  it('keeps code, message and cause of an error', () => {
    const cause = new Error('connect ECONNREFUSED');
    const error = new KubernetesError('unreachable', 'cannot reach it', { cause });
    const [line] = printed((log) => log.error('failed', { cluster: 'prod', error }));
    expect(line).toMatchObject({
      level: 'ERROR',
      error: {
        name: 'Kubernetes.unreachable',
        message: 'cannot reach it',
        cause: { message: 'connect ECONNREFUSED' },
      },
    });
  });

  it('never holds a task token, whatever it is in', () => {
    const taskToken = 'AQCEAAAAKgAAAAMAAAAA';
    const lines = printed((log) => {
      log.info('asked', {
        taskToken,
        input: { taskToken, list: [{ taskToken }, [{ taskToken }]] },
      });
      log.warn('asked', { headers: { Authorization: 'Bearer k8s-aws-v1.abc' } });
    });
    const text = JSON.stringify(lines);
    expect(text).not.toContain(taskToken);
    expect(text).not.toContain('k8s-aws-v1');
    expect(lines[0]).toMatchObject({ taskToken: '[cut out]' });
  });
});

describe('withoutSecrets', () => {
  it('leaves the fields that it was given as they are', () => {
    const fields = { token: 'x', deep: { clientSecret: 'y', node: 'n1' } };
    expect(withoutSecrets(fields)).toEqual({
      token: '[cut out]',
      deep: { clientSecret: '[cut out]', node: 'n1' },
    });
    expect(fields.deep.clientSecret).toBe('y');
  });

  it('keeps what is no plain object', () => {
    const error = new Error('no');
    const at = new Date(0);
    expect(withoutSecrets({ error, at, list: [1, 'a', null] })).toEqual({
      error,
      at,
      list: [1, 'a', null],
    });
  });
});

describe('the handler of a state', () => {
  const state = { cluster: 'prod', node: 'n1', nodeUid: 'u1', episode: 2, attempt: 3 };
  const ids = { ...state, execution: 'arn' };
  const lines: unknown[] = [];
  const log = {
    info: (message: string, fields: object) => void lines.push([message, fields]),
    warn: () => undefined,
    error: (message: string, fields: object) => void lines.push([message, fields]),
  };
  afterEach(() => void lines.splice(0));

  it('logs what it answered under the ids of the attempt', async () => {
    const handler = taskHandler('ConfirmGap', log, async () => ({ next: 'act' }));
    expect(await handler({ state, execution: 'arn' })).toEqual({ next: 'act' });
    expect(lines).toEqual([['ConfirmGap', { ...ids, result: { next: 'act' } }]]);
  });

  it('logs and passes on what it threw', async () => {
    const error = new KubernetesError('forbidden', 'no');
    const handler = taskHandler('DrainNode', log, async () => {
      throw error;
    });
    await expect(handler({ state, execution: 'arn' })).rejects.toBe(error);
    expect(lines).toEqual([['DrainNode failed', { ...ids, error }]]);
  });

  it('names the field of an input that is not what it should be', async () => {
    const handler = taskHandler('DrainNode', log, async () => ({}));
    await expect(
      handler({ state: { ...state, episode: 0 }, execution: 'arn' }),
    ).rejects.toMatchObject({
      code: 'BadInput',
      message: expect.stringContaining('state.episode'),
    });
  });
});
