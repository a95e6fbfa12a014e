import { Duration, Validations } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export interface WorkQueueProps {
  /** Name of the queue; that of its dead letters ends in `-dead-letters`. */
  queueName: string;
  /** Timeout of the function that reads it. */
  functionTimeout: Duration;
  /** How long a message is worth reading. */
  retention: Duration;
}

/**
 * A queue with its dead-letter queue, which also takes what a rule could not deliver. Both are
 * encrypted by SQS itself, so that EventBridge needs no grant on a key.
 */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    this.deadLetters = deadLetterQueue(this, 'DeadLetters', `${props.queueName}-dead-letters`);
    this.queue = new Queue(this, 'Queue', {
      queueName: props.queueName,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      // Six times the function timeout, as AWS asks for with Lambda:
      // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
      visibilityTimeout: Duration.seconds(props.functionTimeout.toSeconds() * 6),
      retentionPeriod: props.retention,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: 5 },
    });
  }
}

/** A queue for what could not be delivered, kept as long as SQS can. */
export function deadLetterQueue(scope: Construct, id: string, queueName: string): Queue {
  const queue = new Queue(scope, id, {
    queueName,
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  Validations.of(queue).acknowledge({
    id: 'AwsSolutions-SQS3',
    reason: 'It is itself where dead letters go; cdk-nag sees that only for queues of queues.',
  });
  return queue;
}
