import { Duration } from 'aws-cdk-lib';
import { EventBus, type EventPattern, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import {
  admissionWanted,
  conditionTaintsDue,
  gapFound,
  nodeRequested,
} from '../../lib/remediation/bus-events.ts';
import type { WorkQueue } from './queue.ts';

/**
 * Events of AWS that hint at a node in trouble or about to leave. None names the cluster, and all
 * but those of AWS Health are best effort: they make the next look at a node come sooner.
 */
const hints: Record<string, EventPattern> = {
  InstanceState: {
    source: ['aws.ec2'],
    detailType: ['EC2 Instance State-change Notification'],
    // A new instance may bear a startup taint; the others say that a node goes.
    detail: { state: ['running', 'stopping', 'stopped', 'shutting-down', 'terminated'] },
  },
  SpotInterruption: {
    source: ['aws.ec2'],
    detailType: ['EC2 Spot Instance Interruption Warning'],
  },
  RebalanceRecommendation: {
    source: ['aws.ec2'],
    detailType: ['EC2 Instance Rebalance Recommendation'],
  },
  Health: {
    source: ['aws.health'],
    detailType: ['AWS Health Event'],
    detail: { service: ['EC2'] },
  },
  AddonHealth: {
    source: ['aws.eks'],
    detailType: ['EKS Addon Health Degraded', 'EKS Addon Health Restored'],
  },
  AutoScalingTermination: {
    source: ['aws.autoscaling'],
    detailType: ['EC2 Instance-terminate Lifecycle Action'],
  },
};

/**
 * What reaches the nodegap bus: findings of the scan and requests of people, and what a forwarder
 * in a cluster reports (docs/deploy.md has the contract).
 */
const ownEvents: Record<string, EventPattern> = {
  Nodegap: {
    source: ['nodegap'],
    detailType: [gapFound, nodeRequested, admissionWanted, conditionTaintsDue],
  },
  Forwarder: { source: ['nodegap.forwarder'], detailType: ['Node Unhealthy'] },
};

export interface EventIntakeProps {
  busName: string;
  /** Where every event goes. */
  intake: WorkQueue;
}

/** The nodegap bus and all rules that lead to the router's queue. */
export class EventIntake extends Construct {
  readonly bus: EventBus;

  constructor(scope: Construct, id: string, { busName, intake }: EventIntakeProps) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', { eventBusName: busName });
    for (const [name, pattern] of Object.entries(hints)) {
      ruleToQueue(this, name, { pattern, to: intake });
    }
    for (const [name, pattern] of Object.entries(ownEvents)) {
      ruleToQueue(this, name, { bus: this.bus, pattern, to: intake });
    }
  }

  grantPut(role: Role): void {
    role.addToPolicy(
      new PolicyStatement({ actions: ['events:PutEvents'], resources: [this.bus.eventBusArn] }),
    );
  }
}

/**
 * A rule whose events go to a queue, tried for as long as they are worth something, and to the
 * dead letters after that. On the default bus, where AWS puts its own events, unless `bus` is given.
 */
export function ruleToQueue(
  scope: Construct,
  id: string,
  { bus, pattern, to }: { bus?: EventBus; pattern: EventPattern; to: WorkQueue },
): Rule {
  return new Rule(scope, id, {
    ...(bus === undefined ? {} : { eventBus: bus }),
    eventPattern: pattern,
    targets: [
      new SqsQueue(to.queue, {
        deadLetterQueue: to.deadLetters,
        maxEventAge: Duration.minutes(15),
        retryAttempts: 8,
      }),
    ],
  });
}
