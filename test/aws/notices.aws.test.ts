/** The filter policies of docs/notifications.md on moto's SNS: what each lets through to a queue. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateTopicCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SnsNotifier } from '../../lib/aws/notifier.ts';
import { samples } from '../report/notices/samples.ts';
import { type Moto, startMoto } from './moto.ts';

const docs = readFileSync(join(import.meta.dirname, '../../docs/notifications.md'), 'utf8');
const policies = [...docs.matchAll(/<!-- policy: ([\w-]+) -->\n```json\n([\s\S]*?)```/g)];

let moto: Moto;
let sns: SNSClient;
let sqs: SQSClient;
const queues = new Map<string, string>();

beforeAll(async () => {
  moto = await startMoto();
  const options = {
    endpoint: moto.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  };
  sns = new SNSClient(options);
  sqs = new SQSClient(options);
  const { TopicArn = '' } = await sns.send(new CreateTopicCommand({ Name: 'nodegap' }));
  for (const [, name = '', policy = ''] of policies) {
    const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: name }));
    queues.set(name, QueueUrl);
    await sns.send(
      new SubscribeCommand({
        TopicArn,
        Protocol: 'sqs',
        Endpoint: `arn:aws:sqs:eu-west-1:123456789012:${name}`,
        Attributes: { FilterPolicy: policy.trim(), RawMessageDelivery: 'true' },
      }),
    );
  }
  const notifier = new SnsNotifier(sns, TopicArn);
  for (const notice of Object.values(samples)) await notifier.notify(notice);
});

afterAll(async () => {
  sns?.destroy();
  sqs?.destroy();
  await moto?.stop();
});

const table: [string, string[]][] = [
  ['critical', ['escalation', 'breaker opened', 'fault left alone', 'view in doubt']],
  ['questions', ['question', 'escalation']],
  ['escalations', ['escalation']],
  ['team', ['stays isolated', 'failed', 'question', 'escalation', 'breaker opened']],
  [
    'cluster-wide',
    [
      ...['breaker opened', 'breaker closed', 'fault left alone', 'view in doubt'],
      ...['status disagrees', 'audit changed'],
    ],
  ],
];

it.each(table)(
  'the policy %s lets through what the docs say, with raw delivery',
  async (name, expected) => {
    const bodies: (string | undefined)[] = [];
    for (;;) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queues.get(name), MaxNumberOfMessages: 10 }),
      );
      if (Messages.length === 0) break;
      bodies.push(...Messages.map(({ Body }) => Body));
    }
    expect(bodies.sort()).toEqual(expected.map((each) => samples[each]?.body).sort());
  },
);
