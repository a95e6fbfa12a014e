import { describe, expect, it } from 'vitest';
import { nodegap } from './run.ts';

const ann = 'arn:aws:sts::123456789012:assumed-role/ops/ann';
const attempt = {
  cluster: 'prod',
  node: 'node-1',
  nodeUid: 'uid-1',
  episode: 2,
  attempt: 1,
  execution: 'prod-0123456789abcdef-e2-a1',
  link: 'https://eu-west-1.console.aws.amazon.com/states/home',
};
const started = { kind: 'started', message: `${attempt.execution} works on node-1`, ...attempt };

/** Functions by name, each answering in turn; the last answer stays. */
function account(answers: Record<string, Record<string, unknown>[]>) {
  const asked: { name: string; request: Record<string, unknown> }[] = [];
  return {
    asked,
    account: async ({ functionName: name }: { functionName: string }) => ({
      identity: async () => ann,
      ask: async (request: Record<string, unknown>) => {
        asked.push({ name, request });
        const left = answers[name] ?? [];
        const answer = left.length > 1 ? left.shift() : left[0];
        if (answer === undefined) throw new Error(`nobody expects a call of ${name}`);
        return answer;
      },
    }),
  };
}
const inPublic = (...answers: Record<string, unknown>[]) =>
  account({ 'nodegap-public-request-node': answers });

describe('nodegap request', () => {
  it('C119 asks in the name of whoever calls, and prints execution and console', async () => {
    const aws = inPublic(started);
    const argv = ['request', 'node-1', '--cluster', 'prod', '--reason', 'disk is loud'];
    const run = await nodegap(argv, aws);
    expect(run).toEqual({
      code: 0,
      out: `${started.message}\nexecution: ${attempt.execution}\nconsole:   ${attempt.link}\n`,
      err: '',
    });
    expect(aws.asked).toEqual([
      {
        name: 'nodegap-public-request-node',
        request: {
          action: 'start',
          node: 'node-1',
          cluster: 'prod',
          reason: 'disk is loud',
          by: ann,
        },
      },
    ]);
  });

  it('finds the function of the network that reaches the cluster', async () => {
    const elsewhere = { kind: 'elsewhere', network: 'inner', message: 'cluster green is in inner' };
    const aws = account({
      'nodegap-public-request-node': [elsewhere],
      'nodegap-inner-request-node': [started],
    });
    expect((await nodegap(['request', 'node-1'], aws)).code).toBe(0);
    expect(aws.asked.map(({ name }) => name)).toEqual([
      'nodegap-public-request-node',
      'nodegap-inner-request-node',
    ]);
    const fixed = account({ other: [elsewhere] });
    const run = await nodegap(['request', 'node-1', '--function', 'other'], fixed);
    expect(run).toMatchObject({ code: 1, out: '' });
    expect(run.err).toContain('--network inner');
  });

  it('says before anything else that the node has no fault', async () => {
    const run = await nodegap(
      ['request', 'node-1'],
      inPublic({ ...started, warning: 'the node has no fault that nodegap acts on' }),
    );
    expect(run.code).toBe(0);
    expect(run.err).toBe('warning: the node has no fault that nodegap acts on\n');
  });

  it('says in one line what is refused', async () => {
    const refused = { kind: 'refused', message: 'pool general is paused', hint: 'nodegap resume' };
    const run = await nodegap(['request', 'node-1'], inPublic(refused));
    expect(run).toEqual({
      code: 1,
      out: '',
      err: 'error: pool general is paused\nhint: nodegap resume\n',
    });
  });

  it.each([
    [['request'], 'node'],
    [['request', 'n', '--reason', ' '], '--reason: is empty'],
    [['request', 'n', '--reason', 'x'.repeat(501)], '501 characters'],
  ])('takes no %j', async (argv, said) => {
    const run = await nodegap(argv);
    expect(run.code).toBe(1);
    expect(run.err).toContain(said);
  });
});

describe('nodegap request --wait', () => {
  const evidence = 'evidence before drain: s3://kept/a\nevidence before replace: s3://kept/b';

  it.each([
    ['replaced', 0],
    ['recovered', 0],
    ['drain-blocked', 1],
    ['denied', 1],
    ['failed', 1],
  ])('ends with %s in %i', async (code, exit) => {
    const aws = inPublic(
      started,
      { kind: 'waiting' },
      { kind: 'working', step: 'IsolateNode' },
      { kind: 'working', step: 'IsolateNode' },
      { kind: 'working', step: 'DrainNode' },
      { kind: 'ended', code, message: 'so it went', steps: 'isolate: did not cure', evidence },
    );
    const run = await nodegap(['request', 'node-1', '--wait'], aws);
    expect(run.code).toBe(exit);
    expect(run.err).toBe('waits for the router\nIsolateNode\nDrainNode\n');
    expect(run.out.split('\n').slice(3)).toEqual([
      `node-1: ${code}: so it went`,
      'steps: isolate: did not cure',
      ...evidence.split('\n'),
      '',
    ]);
    expect(aws.asked.at(-1)?.request).toEqual({
      action: 'follow',
      cluster: 'prod',
      nodeUid: 'uid-1',
      episode: 2,
      attempt: 1,
    });
  });

  it('follows the execution that works on the node already', async () => {
    const running = { ...started, kind: 'running', message: 'works on node-1 already' };
    const aws = inPublic(running, { kind: 'ended', code: 'replaced', message: 'done' });
    expect((await nodegap(['request', 'node-1', '--wait'], aws)).code).toBe(0);
  });

  it('gives up on a router that never takes the request up', async () => {
    const aws = inPublic({ ...started, kind: 'sent' }, { kind: 'waiting' });
    const run = await nodegap(['request', 'node-1', '--wait'], aws);
    expect(run.code).toBe(1);
    expect(run.err).toContain('the router has not taken the request up');
  });

  it('leaves the attempt alone when the person ends the command', async () => {
    let end: () => void = () => undefined;
    const aws = inPublic(started, { kind: 'working', step: 'WaitForPerson' });
    const run = await nodegap(['request', 'node-1', '--wait'], {
      ...aws,
      onInterrupt: (listener) => {
        end = listener;
        return () => undefined;
      },
      onWrite: (text) => {
        if (text.includes('WaitForPerson')) end();
      },
    });
    expect(run.code).toBe(0);
    expect(run.err).toContain(`not followed any more; ${attempt.execution} goes on`);
  });
});
