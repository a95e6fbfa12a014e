import { Duration } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Construct } from 'constructs';
import { stateMachineArn, stateMachineName } from '../names.ts';
import type { ClusterSet } from './cluster-set.ts';
import { ruleToQueue } from './event-intake.ts';
import { NodegapFunction, type Shared } from './nodegap-function.ts';
import { WorkQueue } from './queue.ts';

export interface JanitorProps {
  shared: Shared;
  sets: ClusterSet[];
}

/**
 * Cleans up after executions that ended without their own Catch (aborted, timed out, data limit).
 * The event is best effort, so the scan does the same, later.
 */
export class Janitor extends Construct {
  readonly queue: WorkQueue;

  constructor(scope: Construct, id: string, { shared, sets }: JanitorProps) {
    super(scope, id);
    const functionTimeout = Duration.seconds(30);
    this.queue = new WorkQueue(this, 'Ended', {
      queueName: `${shared.prefix}-janitor`,
      functionTimeout,
      retention: Duration.days(4),
    });
    ruleToQueue(this, 'ExecutionEnded', {
      pattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: {
          status: ['FAILED', 'TIMED_OUT', 'ABORTED'],
          stateMachineArn: sets.map(({ network }) =>
            stateMachineArn(this, stateMachineName(shared.prefix, network.name)),
          ),
        },
      },
      to: this.queue,
    });
    const { role, function: fn } = new NodegapFunction(this, 'Janitor', {
      shared,
      name: 'janitor',
      timeoutSeconds: functionTimeout.toSeconds(),
      memoryMb: 256,
    });
    shared.table.grant(role, ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem']);
    fn.addEventSource(
      new SqsEventSource(this.queue.queue, { batchSize: 10, reportBatchItemFailures: true }),
    );
  }
}
