import { describe, expect, it } from 'vitest';
import { sampleFacts } from '../safety/question-samples.ts';
import { answeringAccount } from './account.ts';
import { nodegap } from './run.ts';

const at = Date.parse('2026-11-29T17:00:00Z');
const hour = 3_600_000;
const waiting = {
  id: 'q1',
  cluster: 'prod',
  node: 'ip-10-0-1-7',
  nodeUid: 'uid-1',
  episode: 2,
  attempt: 1,
  execution: 'arn:aws:states:eu-west-1:123456789012:execution:m:e',
  question: 'replace',
  round: 1,
  facts: sampleFacts(at - 5 * hour),
  askedAt: at - 5 * hour,
  deadline: at + 7 * hour,
  reminded: 1,
  remindedAt: at - hour,
};
const decided = {
  decision: 'deny',
  by: 'bob',
  at: at - hour,
  via: 'link',
  address: '203.0.113.7',
};

describe('nodegap approvals', () => {
  it('lists what waits: facts in short, age, deadline and how often people were told', async () => {
    const { account, asked } = answeringAccount({ kind: 'list', at, approvals: [waiting] });
    const run = await nodegap(['approvals', 'list', '--cluster', 'prod'], { account });
    expect(run.code).toBe(0);
    expect(run.out).toBe(
      [
        'prod/ip-10-0-1-7  replace this node?',
        '  id         q1',
        '  waits      for 5h; 7h left, until 2026-11-30T00:00:00Z; reminded 1 time',
        '  gap        kube-system/aws-node: sandbox, blame node, for 5h30m',
        '             pool db, karpenter',
        '  pods       evict 2 · blocked 1 · needs approval 1 · stays 1',
        '  budgets    shop/db allows 0 disruptions now, and is over 1 pod of this node',
        '  answer     nodegap approvals approve|deny q1',
        '',
      ].join('\n'),
    );
    expect(asked).toEqual([{ action: 'list', cluster: 'prod' }]);
  });

  it('says what has no room in the list, apart from it', async () => {
    const reply = { kind: 'list', at, approvals: [waiting], leftOut: 12 };
    const { account } = answeringAccount(reply);
    const run = await nodegap(['approvals', 'list', '--all', '-o', 'json'], { account });
    expect(JSON.parse(run.out)).toHaveLength(1);
    expect(run.err).toMatch(/^12 older ones .* are left out; show fewer with --cluster\n$/);
  });

  it('shows all of a question', async () => {
    const { account, asked } = answeringAccount({ kind: 'question', at, approval: waiting });
    const { out } = await nodegap(['approvals', 'show', 'q1'], { account });
    expect(asked).toEqual([{ action: 'show', id: 'q1' }]);
    for (const text of [
      'approvals.pools.db: always',
      '9 of 10 nodes run the same revision',
      'shop/web-2',
      'shop/db-0 (PodDisruptionBudget shop/db allows 0 disruptions)',
      'shop/tool (has no controller',
      'aws-node-x (of a DaemonSet)',
      'the isolation is undone: uncordon',
      'reminded 1 time, last 2026-11-29T16:00:00Z; not escalated',
      'arn:aws:states:eu-west-1:123456789012:execution:m:e',
      'nodegap approvals approve|deny q1',
    ]) {
      expect(out).toContain(text);
    }
  });

  it('shows who answered, how, when and from where, and offers no answer then', async () => {
    const approval = { ...waiting, decided };
    const { account } = answeringAccount({ kind: 'question', at, approval });
    const { out } = await nodegap(['approvals', 'show', 'q1'], { account });
    expect(out).toContain('deny by bob, via link from 203.0.113.7, at 2026-11-29T16:00:00Z');
    expect(out).not.toContain('nodegap approvals approve');
  });

  it('lists those that are over too, when asked', async () => {
    const approvals = [
      { ...waiting, decided },
      { ...waiting, deadline: at - hour },
    ];
    const { account, asked } = answeringAccount({ kind: 'list', at, approvals });
    const { out } = await nodegap(['approvals', 'list', '--all'], { account });
    expect(asked).toEqual([{ action: 'list', all: true }]);
    expect(out).toContain('no more: answered 60m ago');
    expect(out).toContain('nobody answered until 2026-11-29T16:00:00Z, which was a no');
  });

  it('shows nothing of a question that is not there', async () => {
    const { account } = answeringAccount({ kind: 'not-found' });
    expect(await nodegap(['approvals', 'show', 'q9'], { account })).toEqual({
      code: 1,
      out: '',
      err: 'error: there is no question q9\nhint: list them with: nodegap approvals list\n',
    });
  });

  it('says so when nothing waits', async () => {
    const { account } = answeringAccount({ kind: 'list', at, approvals: [] });
    expect((await nodegap(['approvals', 'list'], { account })).out).toBe(
      'Nothing waits for an answer.\n',
    );
  });

  it('prints JSON for scripts', async () => {
    const { account } = answeringAccount({ kind: 'list', at, approvals: [waiting] });
    const run = await nodegap(['approvals', 'list', '-o', 'json'], { account });
    expect(JSON.parse(run.out)).toEqual([waiting]);
  });

  it.each(['approve', 'deny', 'retry', 'proceed', 'release'])(
    'answers %s in the name of whoever calls',
    async (decision) => {
      const { account, asked } = answeringAccount({ kind: 'decided' });
      const run = await nodegap(['approvals', decision, 'q1'], { account });
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
    [
      { kind: 'already-decided', ...decided },
      'it was answered before: deny by bob, via link from 203.0.113.7, at 2026-11-29T16:00:00Z',
    ],
    [{ kind: 'refused', message: 'answer approve or deny, not retry' }, 'not retry'],
    [{ kind: 'expired' }, 'the deadline has passed'],
    [{ kind: 'not-found' }, 'there is no question q1'],
    [{ kind: 'too-late', message: 'the execution no longer waits' }, 'no longer waits'],
  ])('fails with one line on %o', async (answer, text) => {
    const { account } = answeringAccount(answer);
    const run = await nodegap(['approvals', 'approve', 'q1'], { account });
    expect(run.code).toBe(1);
    expect(run.err).toContain(text);
    expect(run.err).not.toContain('    at ');
  });

  it('knows two formats', async () => {
    const { account } = answeringAccount({ kind: 'list', at, approvals: [] });
    const { code, err } = await nodegap(['approvals', 'list', '-o', 'yaml'], { account });
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
      new Error('Region not accepted: region="a b" is not a valid hostname component.'),
      '"eu-west-1" is not an AWS region',
      'write for example eu-west-1',
    ],
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
    const account = async () => ({ ask: failing, identity: failing });
    const env = { AWS_REGION: 'eu-west-1' };
    for (const argv of [['list'], ['approve', 'q1']]) {
      const run = await nodegap(['approvals', ...argv], { account, env });
      expect(run).toEqual({ code: 1, out: '', err: `error: ${message}\nhint: ${hint}\n` });
    }
  });

  it('repeats why a role may not be taken', async () => {
    const failing = async () => {
      throw named('AccessDenied', 'ann may not perform sts:AssumeRole on ops');
    };
    const account = async () => ({ ask: failing, identity: failing });
    const { err } = await nodegap(['approvals', 'list'], { account });
    expect(err).toBe('error: AWS refuses: ann may not perform sts:AssumeRole on ops\n');
  });

  it('names the place that cannot be reached', async () => {
    const account = async () => ({
      ask: async () => {
        throw named('Error', 'getaddrinfo ENOTFOUND lambda.eu-wset-1', { code: 'ENOTFOUND' });
      },
      identity: async () => 'nobody',
    });
    const argv = ['approvals', 'list', '--region', 'eu-wset-1'];
    const { err } = await nodegap(argv, { account });
    expect(err).toBe(
      'error: AWS cannot be reached in eu-wset-1: getaddrinfo ENOTFOUND lambda.eu-wset-1\n',
    );
  });

  it('asks the function and region that it is told', async () => {
    const { account, targets } = answeringAccount({ kind: 'list', at, approvals: [] });
    const argv = ['approvals', 'list', '--region', 'eu-west-1', '--function', 'mine'];
    await nodegap(argv, { account });
    expect(targets).toEqual([{ functionName: 'mine', region: 'eu-west-1' }]);
  });
});
