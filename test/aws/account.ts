/**
 * An AWS account on loopback: moto behind the Lambda proxy, the environment that makes every client
 * of the SDK use it, and the few things that tests do in an account.
 */
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SNSClient } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { vi } from 'vitest';
import { keepOutput } from './function-output.ts';
import { type LambdaProxy, startLambdaProxy } from './lambda-proxy.ts';
import { type Moto, startMoto } from './moto.ts';
import type { Answers } from './simulated-services.ts';

/** The account that moto gives everybody. */
export const account = '123456789012';
export const region = 'eu-west-1';

export interface Queue {
  url: string;
  arn: string;
}

export class Account {
  readonly dynamodb = new DynamoDBClient({});
  readonly events = new EventBridgeClient({});
  readonly sfn = new SFNClient({});
  readonly s3 = new S3Client({});
  readonly sns = new SNSClient({});
  // moto's queue URLs name a host of AWS.
  readonly sqs = new SQSClient({ useQueueUrlAsEndpoint: false });
  readonly #moto: Moto;
  readonly #proxy: LambdaProxy;
  readonly #stopKeeping = keepOutput();

  /** From `openAccount`: the clients read the environment that it sets. */
  constructor(moto: Moto, proxy: LambdaProxy) {
    this.#moto = moto;
    this.#proxy = proxy;
  }

  /** What answers invocations, by the name of the function. */
  get functions(): LambdaProxy['handlers'] {
    return this.#proxy.handlers;
  }

  /** Which AWS operations the code of the functions has called so far. */
  get recorder(): LambdaProxy['recorder'] {
    return this.#proxy.recorder;
  }

  /** Lets functions whose name begins with `prefix` hear that instead of what moto says. */
  answer(prefix: string, answers: Answers): void {
    this.#proxy.answers.set(prefix, answers);
  }

  async close(): Promise<void> {
    for (const client of [this.dynamodb, this.events, this.s3, this.sfn, this.sns, this.sqs]) {
      client.destroy();
    }
    await this.#proxy.close();
    await this.#moto.stop();
    this.#stopKeeping();
    vi.unstubAllEnvs();
  }

  /** Makes Step Functions carry executions out, which moto only does when asked to. */
  async executeStateMachines(): Promise<void> {
    const response = await fetch(`${this.#moto.endpoint}/moto-api/config`, {
      method: 'POST',
      body: JSON.stringify({ stepfunctions: { execute_state_machine: true } }),
    });
    if (!response.ok) throw new Error(`moto refused its configuration: ${await response.text()}`);
  }

  async createStateTable(TableName: string): Promise<void> {
    await this.dynamodb.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'sk', AttributeType: 'S' },
        ],
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      }),
    );
  }

  async createQueue(QueueName: string): Promise<Queue> {
    const { QueueUrl = '' } = await this.sqs.send(new CreateQueueCommand({ QueueName }));
    return { url: QueueUrl, arn: `arn:aws:sqs:${region}:${account}:${QueueName}` };
  }

  /** Takes all messages that are there out of a queue. */
  async take(queue: Queue): Promise<Message[]> {
    const all: Message[] = [];
    for (;;) {
      const messages = await this.#receive(queue);
      if (messages.length === 0) return all;
      for (const message of messages) await this.#delete(queue, message);
      all.push(...messages);
    }
  }

  /**
   * What Lambda's event source mapping does: hands a function the messages of a queue in batches
   * of ten and deletes those that did not fail. Answers how many those were.
   */
  async deliver(
    queue: Queue,
    handler: (event: SQSEvent) => Promise<SQSBatchResponse>,
  ): Promise<number> {
    let delivered = 0;
    for (;;) {
      const messages = await this.#receive(queue);
      if (messages.length === 0) return delivered;
      const { batchItemFailures } = await handler(sqsEvent(messages, queue.arn));
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      for (const message of messages) {
        if (failed.has(message.MessageId ?? '')) continue;
        await this.#delete(queue, message);
        delivered += 1;
      }
    }
  }

  async #receive({ url }: Queue): Promise<Message[]> {
    const { Messages = [] } = await this.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
    );
    return Messages;
  }

  async #delete({ url }: Queue, { ReceiptHandle }: Message): Promise<void> {
    await this.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
  }
}

/** Starts an account of its own. One a test file: the environment is shared. */
export async function openAccount(): Promise<Account> {
  const proxy = await startLambdaProxy();
  const moto = await startMoto({
    env: { MOTO_PORT: String(proxy.port), NO_PROXY: 'localhost' },
  }).catch(async (error: unknown) => {
    await proxy.close();
    throw error;
  });
  proxy.forwardTo(moto.port);
  const environment = {
    AWS_ENDPOINT_URL: proxy.endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_SESSION_TOKEN: 'test',
    // Nothing of the person who runs the tests.
    AWS_PROFILE: undefined,
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  return new Account(moto, proxy);
}

/** Messages of a queue as Lambda passes them to a function. */
export function sqsEvent(messages: Message[], queueArn: string): SQSEvent {
  return {
    Records: messages.map(
      ({ MessageId = '', ReceiptHandle = '', Body = '', MD5OfBody = '' }): SQSRecord => ({
        messageId: MessageId,
        receiptHandle: ReceiptHandle,
        body: Body,
        md5OfBody: MD5OfBody,
        attributes: {
          ApproximateReceiveCount: '1',
          SentTimestamp: '0',
          SenderId: account,
          ApproximateFirstReceiveTimestamp: '0',
        },
        messageAttributes: {},
        eventSource: 'aws:sqs',
        eventSourceARN: queueArn,
        awsRegion: region,
      }),
    ),
  };
}
