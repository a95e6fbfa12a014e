import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, expect, it } from 'vitest';
import { SnsNotifier } from '../../lib/aws/notifier.ts';
import type { Notice } from '../../lib/ports.ts';

const sns = mockClient(SNSClient);
const notifier = new SnsNotifier(new SNSClient({ region: 'eu-west-1' }), 'arn:topic');

beforeEach(() => {
  sns.reset();
  sns.on(PublishCommand).resolves({});
});

function notice(overrides: Partial<Notice> = {}): Notice {
  return {
    subject: 'nodegap: n1',
    body: 'words',
    kind: 'alert',
    severity: 'warning',
    thread: 'prod/n1',
    cluster: 'prod',
    ...overrides,
  };
}

async function sent(overrides: Partial<Notice>) {
  await notifier.notify(notice(overrides));
  return sns.commandCalls(PublishCommand)[0]?.args[0].input;
}

it('publishes with attributes for subscription filters', async () => {
  await expect(sent({ node: 'n1', kind: 'approval', episode: 3 })).resolves.toEqual({
    TopicArn: 'arn:topic',
    Subject: 'nodegap: n1',
    Message: 'words',
    MessageAttributes: {
      kind: { DataType: 'String', StringValue: 'approval' },
      severity: { DataType: 'String', StringValue: 'warning' },
      cluster: { DataType: 'String', StringValue: 'prod' },
      thread: { DataType: 'String', StringValue: 'prod/n1' },
      episode: { DataType: 'String', StringValue: '3' },
      node: { DataType: 'String', StringValue: 'n1' },
    },
  });
});

it('leaves the node out of a notice about a cluster', async () => {
  const input = await sent({ kind: 'breaker' });
  expect(Object.keys(input?.MessageAttributes ?? {})).toEqual([
    'kind',
    'severity',
    'cluster',
    'thread',
  ]);
});

it.each([
  ['a long subject', 'x'.repeat(150), `${'x'.repeat(96)}...`],
  ['lines', ' two\r\nlines\tand a tab ', 'two lines and a tab'],
  ['other letters', 'Knoten „ä“ fällt aus', 'Knoten ??? f?llt aus'],
  ['control characters', 'bell\u0007', 'bell?'],
])('makes one line of ASCII below 100 characters of %s', async (_what, subject, expected) => {
  const input = await sent({ subject });
  expect(input?.Subject).toBe(expected);
});

it('writes out what could not be seen, and leaves the lines of a body', async () => {
  const input = await sent({ body: 'one\u001b[2J\ntwo\u202e', node: 'n1\u0000' });
  expect(input?.Message).toBe('one\\u001b[2J\ntwo\\u202e');
  expect(input?.MessageAttributes?.node?.StringValue).toBe('n1\\u0000');
});

it('cuts a body that SNS would refuse, between characters, and says so', async () => {
  const body = `x${'ä'.repeat(200_000)}`;
  const message = String((await sent({ body }))?.Message);
  expect(Buffer.byteLength(message)).toBeLessThan(262_144);
  expect(message).not.toContain('\uFFFD');
  expect(message).toMatch(/ä\n\[cut here: the message has 400001 bytes\]$/);
});

it('never bears more than the 10 attributes that queues with raw delivery take, none empty', async () => {
  const everything = { node: 'n1', pool: 'general', episode: 1, escalation: 'reminder' };
  const input = await sent({ ...everything, kind: 'approval' });
  expect(Object.keys(input?.MessageAttributes ?? {})).toHaveLength(8);
  sns.resetHistory();
  const empty = await sent({ pool: '' });
  expect(Object.keys(empty?.MessageAttributes ?? {})).not.toContain('pool');
});
