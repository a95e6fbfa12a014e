import { describe, expect, it } from 'vitest';
import { nodegap } from './run.ts';

/** An account that answers with `answer` and remembers what it was asked. */
function account(answer: Record<string, unknown>) {
  const asked: Record<string, unknown>[] = [];
  const targets: unknown[] = [];
  return {
    asked,
    targets,
    approvals: async (options: unknown) => {
      targets.push(options);
      return {
        identity: async () => 'arn:aws:sts::123456789012:assumed-role/ops/ann',
        ask: async (request: Record<string, unknown>) => {
          asked.push(request);
          return answer;
        },
      };
    },
  };
}

const waiting = {
  id: 'q1',
  cluster: 'prod',
  node: 'ip-10-0-1-7',
  question: 'replace',
  deadline: Date.parse('2026-11-30T00:00:00Z'),
  facts: ['kube-system/aws-node: not-ready', 'approve: drain and replace'],
};

describe('nodegap approvals', () => {
  it('lists what waits, with the facts and the deadline', async () => {
    const { approvals, asked } = account({ kind: 'list', approvals: [waiting] });
    const run = await nodegap(['approvals', 'list', '--cluster', 'prod'], { approvals });
    expect(run.code).toBe(0);
    expect(run.out).toContain('q1  prod/ip-10-0-1-7  replace  until 2026-11-30T00:00:00Z');
    expect(run.out).toContain('  kube-system/aws-node: not-ready');
    expect(asked).toEqual([{ action: 'list', cluster: 'prod' }]);
  });

  it('says so when nothing waits', async () => {
    const { approvals } = account({ kind: 'list', approvals: [] });
    expect((await nodegap(['approvals', 'list'], { approvals })).out).toBe(
      'Nothing waits for an answer.\n',
    );
  });

  it('prints JSON for scripts', async () => {
    const { approvals } = account({ kind: 'list', approvals: [waiting] });
    const run = await nodegap(['approvals', 'list', '-o', 'json'], { approvals });
    expect(JSON.parse(run.out)).toEqual([waiting]);
  });

  it.each(['approve', 'deny', 'retry', 'proceed', 'release'])(
    'answers %s in the name of whoever calls',
    async (decision) => {
      const { approvals, asked } = account({ kind: 'decided' });
      const run = await nodegap(['approvals', decision, 'q1'], { approvals });
      expect(run.code).toBe(0);
      expect(asked).toEqual([
        {
          action: 'decide',
          id: 'q1',
          decision,
          by: 'arn:aws:sts::123456789012:assumed-role/ops/ann',
        },
      ]);
    },
  );

  it.each([
    [{ kind: 'already-decided', by: 'bob', decision: 'deny' }, 'bob has already said deny'],
    [{ kind: 'expired' }, 'the deadline has passed'],
    [{ kind: 'not-found' }, 'there is no question q1'],
    [{ kind: 'too-late', message: 'the execution no longer waits' }, 'no longer waits'],
  ])('fails with one line on %o', async (answer, text) => {
    const { approvals } = account(answer);
    const run = await nodegap(['approvals', 'approve', 'q1'], { approvals });
    expect(run.code).toBe(1);
    expect(run.err).toContain(text);
    expect(run.err).not.toContain('    at ');
  });

  it('knows two formats', async () => {
    const { approvals } = account({ kind: 'list', approvals: [] });
    const { code, err } = await nodegap(['approvals', 'list', '-o', 'yaml'], { approvals });
    expect({ code, err }).toEqual({
      code: 1,
      err: 'error: -o: "yaml" is not one of text, json\n',
    });
  });

  const named = (name: string, message: string, more = {}) =>
    Object.assign(new Error(message), { name, ...more });
  const signIn = 'aws sso login, or set AWS_PROFILE';

  it.each([
    [new Error('Region is missing'), 'no AWS region', '--region or AWS_REGION'],
    [
      named('CredentialsProviderError', 'Could not load credentials from any providers'),
      'no AWS credentials',
      signIn,
    ],
    [named('Error', 'Could not load credentials from any providers'), 'no AWS credentials', signIn],
    [
      named('ExpiredTokenException', 'The security token is no longer good'),
      'the AWS credentials have expired',
      signIn,
    ],
    [
      named('UnrecognizedClientException', 'The security token is invalid'),
      'AWS does not accept the credentials',
      signIn,
    ],
    [
      named('ResourceNotFoundException', 'Function not found: arn:…'),
      'there is no function nodegap-answer-approval in eu-west-1; is the stack deployed there?',
      '--region and --function name another one',
    ],
    [
      named('AccessDeniedException', 'User: … is not authorized'),
      'not allowed to call nodegap-answer-approval in eu-west-1',
      'it needs lambda:InvokeFunction on that function',
    ],
  ])('says of "%s" what to do', async (error, message, hint) => {
    const failing = async () => {
      throw error;
    };
    const approvals = async () => ({ ask: failing, identity: failing });
    const env = { AWS_REGION: 'eu-west-1' };
    for (const argv of [['list'], ['approve', 'q1']]) {
      const run = await nodegap(['approvals', ...argv], { approvals, env });
      expect(run).toEqual({ code: 1, out: '', err: `error: ${message}\nhint: ${hint}\n` });
    }
  });

  it('repeats why a role may not be taken', async () => {
    const failing = async () => {
      throw named('AccessDenied', 'ann may not perform sts:AssumeRole on ops');
    };
    const approvals = async () => ({ ask: failing, identity: failing });
    const { err } = await nodegap(['approvals', 'list'], { approvals });
    expect(err).toBe('error: AWS refuses: ann may not perform sts:AssumeRole on ops\n');
  });

  it('names the place that cannot be reached', async () => {
    const approvals = async () => ({
      ask: async () => {
        throw named('Error', 'getaddrinfo ENOTFOUND lambda.eu-wset-1', { code: 'ENOTFOUND' });
      },
      identity: async () => 'nobody',
    });
    const argv = ['approvals', 'list', '--region', 'eu-wset-1'];
    const { err } = await nodegap(argv, { approvals });
    expect(err).toBe(
      'error: AWS cannot be reached in eu-wset-1: getaddrinfo ENOTFOUND lambda.eu-wset-1\n',
    );
  });

  it('asks the function and region that it is told', async () => {
    const { approvals, targets } = account({ kind: 'list', approvals: [] });
    const argv = ['approvals', 'list', '--region', 'eu-west-1', '--function', 'mine'];
    await nodegap(argv, { approvals });
    expect(targets).toEqual([{ functionName: 'mine', region: 'eu-west-1' }]);
  });
});
