/** What the stack would make for an installation in an account: topic, bus and state machine. */
import {
  CreateEventBusCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  type BucketLocationConstraint,
  CreateBucketCommand,
  PutBucketEncryptionCommand,
  PutBucketVersioningCommand,
} from '@aws-sdk/client-s3';
import { CreateStateMachineCommand } from '@aws-sdk/client-sfn';
import { CreateTopicCommand, SubscribeCommand } from '@aws-sdk/client-sns';
import { loadAdmitDefinition, loadDefinition } from '../../local/workflow/definition.ts';
import { type Account, account, type Queue, region } from './account.ts';

/** The topic, and a queue that gets what people would get. */
export async function topicInto(
  aws: Account,
  prefix: string,
): Promise<{ arn: string; queue: Queue }> {
  const queue = await aws.createQueue(`${prefix}-notices`);
  const { TopicArn = '' } = await aws.sns.send(new CreateTopicCommand({ Name: prefix }));
  await aws.sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: queue.arn }));
  return { arn: TopicArn, queue };
}

/** The bus with one rule for what nodegap itself and its forwarders say; routing.aws.test.ts has those of the stack. */
export async function busInto(aws: Account, prefix: string): Promise<Queue> {
  const queue = await aws.createQueue(`${prefix}-events`);
  await aws.events.send(new CreateEventBusCommand({ Name: prefix }));
  const rule = { Name: `${prefix}-own`, EventBusName: prefix };
  await aws.events.send(
    new PutRuleCommand({
      ...rule,
      EventPattern: JSON.stringify({ source: [{ prefix: 'nodegap' }] }),
    }),
  );
  await aws.events.send(
    new PutTargetsCommand({
      Rule: rule.Name,
      EventBusName: prefix,
      Targets: [{ Id: 'queue', Arn: queue.arn }],
    }),
  );
  return queue;
}

/** The shipped definition as it is, but for the ARNs of the functions. */
export async function createMachine(
  aws: Account,
  prefix: string,
  machine: 'remediate-node' | 'admit-nodes' = 'remediate-node',
): Promise<string> {
  const shipped = machine === 'admit-nodes' ? await loadAdmitDefinition() : await loadDefinition();
  const definition = JSON.stringify(shipped).replaceAll(
    /arn:aws:lambda:us-east-1:000000000000:function:/g,
    `arn:aws:lambda:${region}:${account}:function:${prefix}-public-`,
  );
  const { stateMachineArn = '' } = await aws.sfn.send(
    new CreateStateMachineCommand({
      name: `${prefix}-public-${machine}`,
      definition,
      roleArn: `arn:aws:iam::${account}:role/${prefix}`,
    }),
  );
  return stateMachineArn;
}

/** The bucket for evidence, as the stack makes it: encrypted with S3's own key, and versioned. */
export async function bucketInto(aws: Account, prefix: string): Promise<string> {
  const Bucket = `${prefix}-evidence`;
  await aws.s3.send(
    new CreateBucketCommand({
      Bucket,
      CreateBucketConfiguration: { LocationConstraint: region as BucketLocationConstraint },
    }),
  );
  await aws.s3.send(
    new PutBucketEncryptionCommand({
      Bucket,
      ServerSideEncryptionConfiguration: {
        Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
    }),
  );
  await aws.s3.send(
    new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }),
  );
  return Bucket;
}
