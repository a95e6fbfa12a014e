import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createEc2Query } from '../../lib/aws/ec2-query.ts';
import { createInstanceStatuses } from '../../lib/aws/instance-status.ts';

interface Asked {
  headers: IncomingMessage['headers'];
  parameters: Record<string, string>;
}
type Reply = { status?: number; body: string } | 'hang up';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function ec2(answer: (asked: Asked, index: number) => Reply) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const parameters = Object.fromEntries(new URLSearchParams(body));
    asked.push({ headers: request.headers, parameters });
    const reply = answer({ headers: request.headers, parameters }, asked.length - 1);
    if (reply === 'hang up') request.socket.destroy();
    else response.writeHead(reply.status ?? 200).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  const slept: number[] = [];
  const { port } = server.address() as AddressInfo;
  const query = createEc2Query({
    region: 'eu-west-1',
    credentials: async () => ({
      accessKeyId: 'AKID',
      secretAccessKey: 'secret',
      sessionToken: 'token',
    }),
    clock: { now: () => Date.parse('2026-11-29T12:00:00Z') },
    pacing: { random: () => 0.5, sleep: async (ms) => void slept.push(ms) },
    endpoint: `http://127.0.0.1:${port}`,
  });
  return { asked, slept, statuses: createInstanceStatuses(query) };
}

const answerOf = (...items: string[]) => ({
  body: `<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>r</requestId>
  <instanceStatusSet>${items.join('')}</instanceStatusSet>
</DescribeInstanceStatusResponse>`,
});

interface Parts {
  state?: string;
  system?: string;
  instance?: string;
  volumes?: string;
  since?: string;
}

function item(id: string, parts: Parts = {}): string {
  const { state = 'running', system = 'ok', instance = 'ok', volumes, since } = parts;
  const impaired = since === undefined ? '' : `<impairedSince>${since}</impairedSince>`;
  const check = (tag: string, status: string) =>
    `<${tag}><status>${status}</status><details><item><name>reachability</name><status>failed</status>${impaired}</item></details></${tag}>`;
  return `<item><instanceId>${id}</instanceId><instanceState><code>16</code><name>${state}</name></instanceState>${check('systemStatus', system)}${check('instanceStatus', instance)}${volumes === undefined ? '' : check('attachedEbsStatus', volumes)}</item>`;
}

const failure = (code: string, status = 400) => ({
  status,
  body: `<Response><Errors><Error><Code>${code}</Code><Message>because</Message></Error></Errors></Response>`,
});

describe('createInstanceStatuses', () => {
  it.each<[string, Parts, object]>([
    ['all checks passed', {}, { kind: 'ok' }],
    ['volumes passed as well', { volumes: 'ok' }, { kind: 'ok' }],
    ['no check of volumes for its type', { volumes: 'not-applicable' }, { kind: 'ok' }],
    [
      'an instance that does not answer',
      { instance: 'impaired', since: '2026-11-29T11:00:00.000Z' },
      { kind: 'impaired', checks: ['instance status'], since: Date.parse('2026-11-29T11:00:00Z') },
    ],
    [
      'a host and volumes that fail',
      { system: 'impaired', volumes: 'impaired' },
      { kind: 'impaired', checks: ['system status', 'attached volumes'] },
    ],
    [
      'a check that runs',
      { instance: 'initializing' },
      { kind: 'undecided', status: 'initializing' },
    ],
    [
      'too little data',
      { system: 'insufficient-data' },
      { kind: 'undecided', status: 'insufficient-data' },
    ],
    [
      'a stopped instance',
      { state: 'stopped', system: 'not-applicable', instance: 'not-applicable' },
      { kind: 'not-running', state: 'stopped' },
    ],
  ])('reads %s', async (_title, parts, expected) => {
    const { statuses } = await ec2(() => answerOf(item('i-1', parts)));
    expect(await statuses.statusOf(['i-1'])).toEqual(new Map([['i-1', expected]]));
  });

  it('asks for exactly these instances, also those not running, with a signature', async () => {
    const { asked, statuses } = await ec2(() => answerOf(item('i-1'), item('i-2')));
    await statuses.statusOf(['i-1', 'i-2']);
    expect(asked[0]?.parameters).toEqual({
      Action: 'DescribeInstanceStatus',
      Version: '2016-11-15',
      IncludeAllInstances: 'true',
      'InstanceId.1': 'i-1',
      'InstanceId.2': 'i-2',
    });
    expect(asked[0]?.headers.authorization).toContain(
      'Credential=AKID/20261129/eu-west-1/ec2/aws4_request',
    );
    expect(asked[0]?.headers['x-amz-security-token']).toBe('token');
  });

  it('asks for at most a hundred at once, and for none without a call', async () => {
    const { asked, statuses } = await ec2(() => answerOf());
    const ids = Array.from({ length: 150 }, (_, index) => `i-${index}`);
    expect((await statuses.statusOf(ids)).size).toBe(150);
    expect(asked.map(({ parameters }) => Object.keys(parameters).length - 3)).toEqual([100, 50]);
    await statuses.statusOf([]);
    expect(asked).toHaveLength(2);
  });

  it('finds the one that EC2 does not know among others', async () => {
    const { statuses } = await ec2(({ parameters }) =>
      Object.values(parameters).includes('i-2')
        ? failure('InvalidInstanceID.NotFound')
        : answerOf(item('i-1')),
    );
    expect(await statuses.statusOf(['i-1', 'i-2'])).toEqual(
      new Map([
        ['i-1', { kind: 'ok' }],
        ['i-2', { kind: 'absent' }],
      ]),
    );
  });

  it('tries again when EC2 is busy or hangs up', async () => {
    const replies: Reply[] = [
      failure('RequestLimitExceeded', 503),
      'hang up',
      answerOf(item('i-1')),
    ];
    const { slept, statuses } = await ec2((_asked, index) => replies[index] ?? 'hang up');
    expect((await statuses.statusOf(['i-1'])).get('i-1')).toEqual({ kind: 'ok' });
    expect(slept).toEqual([200, 400]);
  });

  it.each<[string, Reply, RegExp]>([
    ['refuses', failure('UnauthorizedOperation', 403), /403 UnauthorizedOperation because/],
    ['never answers', 'hang up', /no answer/],
    ['answers what is no XML', { body: 'hello' }, /no XML/],
  ])('says why nothing was read when EC2 %s', async (_title, reply, reason) => {
    const { statuses } = await ec2(() => reply);
    expect((await statuses.statusOf(['i-1'])).get('i-1')).toEqual({
      kind: 'unread',
      reason: expect.stringMatching(reason),
    });
  });
});
