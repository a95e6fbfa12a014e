import { createHash } from 'node:crypto';
import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { ClusterConfig } from '../../lib/config/model.ts';

/** What a schedule has done to a cluster, and how late it may still be. */
const jobs = {
  // A scan that could not be started is not caught up: the next one comes soon, and it sees more.
  scan: { maxEventAge: Duration.minutes(1), retryAttempts: 0 },
  audit: { maxEventAge: Duration.hours(6), retryAttempts: 5 },
};

const ids = { scan: 'Scan', audit: 'Audit' } as const;

/** https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html */
const maxScheduleName = 64;

export interface ClusterSchedulesProps {
  /** First part of the names of the schedules. */
  prefix: string;
  job: keyof typeof jobs;
  function: IFunction;
  clusters: ClusterConfig[];
  /** When it is done, for each cluster. */
  when(cluster: ClusterConfig): ScheduleExpression;
  deadLetters: Queue;
}

/**
 * Once a day, at a minute (UTC) that follows from the name of the cluster: many clusters are not
 * audited all at once, and none moves when another comes.
 */
export function daily({ name }: ClusterConfig): ScheduleExpression {
  const minute = createHash('sha256').update(name).digest().readUInt32BE(0) % (24 * 60);
  return ScheduleExpression.cron({
    hour: String(Math.floor(minute / 60)),
    minute: String(minute % 60),
  });
}

/** One schedule per cluster. */
export class ClusterSchedules extends Construct {
  constructor(scope: Construct, id: string, props: ClusterSchedulesProps) {
    super(scope, id);
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    });
    role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [props.function.functionArn],
      }),
    );
    role.addToPolicy(
      new PolicyStatement({
        actions: ['sqs:SendMessage'],
        resources: [props.deadLetters.queueArn],
      }),
    );
    for (const cluster of props.clusters) {
      const scheduleName = `${props.prefix}-${props.job}-${cluster.name}`;
      const schedule = new Schedule(this, `${ids[props.job]}-${cluster.name}`, {
        // A longer one is left to CloudFormation: cut names of two clusters could be the same.
        ...(scheduleName.length <= maxScheduleName ? { scheduleName } : {}),
        description: `nodegap: ${props.job} of cluster ${cluster.name}`,
        schedule: props.when(cluster),
        target: new LambdaInvoke(props.function, {
          // The target would add every version and alias of the function to the role.
          role: role.withoutPolicyUpdates(),
          input: ScheduleTargetInput.fromObject({ cluster: cluster.name }),
          deadLetterQueue: props.deadLetters,
          ...jobs[props.job],
        }),
      });
      schedule.node.addDependency(role);
    }
  }
}
