/**
 * Events as their senders put them, by the pages of the EventBridge reference on aws.ec2, aws.eks
 * and aws.autoscaling, the schema of AWS Health, and docs/deploy.md for a forwarder's own.
 */
import type { PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { account, region } from './account.ts';

/** The bus of nodegap; AWS's own events are on the default one. */
export const ownBus = 'nodegap';

type Detail = Record<string, unknown>;

function awsEvent(Source: string, DetailType: string, detail: Detail): PutEventsRequestEntry {
  return { Source, DetailType, Detail: JSON.stringify(detail) };
}

export function ec2(detailType: string, instance: string, detail: Detail = {}) {
  return {
    ...awsEvent('aws.ec2', detailType, { 'instance-id': instance, ...detail }),
    Resources: [`arn:aws:ec2:${region}:${account}:instance/${instance}`],
  };
}

export function instanceState(instance: string, state: string) {
  return ec2('EC2 Instance State-change Notification', instance, { state });
}

export function spotInterruption(instance: string) {
  return ec2('EC2 Spot Instance Interruption Warning', instance, {
    'instance-action': 'terminate',
  });
}

export function health(service: string) {
  return awsEvent('aws.health', 'AWS Health Event', {
    eventArn: `arn:aws:health:${region}::event/${service}/AWS_${service}_ISSUE/1`,
    service,
    eventTypeCode: `AWS_${service}_OPERATIONAL_ISSUE`,
    eventTypeCategory: 'issue',
    eventScopeCode: 'ACCOUNT_SPECIFIC',
    eventRegion: region,
    statusCode: 'open',
    affectedEntities: [{ entityValue: 'i-12' }, { entityValue: 'i-13' }],
  });
}

export function addon(detailType: string, clusterName: string) {
  return awsEvent('aws.eks', detailType, { clusterName, addonName: 'vpc-cni' });
}

export function lifecycle(instance: string, detail: Detail = {}, verb = 'terminate') {
  return awsEvent('aws.autoscaling', `EC2 Instance-${verb} Lifecycle Action`, {
    LifecycleActionToken: '87654321-4321-4321-4321-210987654321',
    AutoScalingGroupName: 'workers',
    LifecycleHookName: 'drain',
    EC2InstanceId: instance,
    LifecycleTransition: 'autoscaling:EC2_INSTANCE_TERMINATING',
    Origin: 'AutoScalingGroup',
    Destination: 'EC2',
    ...detail,
  });
}

export function executionEnded(status: string, machine = 'nodegap-public-remediate-node') {
  return awsEvent('aws.states', 'Step Functions Execution Status Change', {
    executionArn: `arn:aws:states:${region}:${account}:execution:${machine}:prod-1-e1-a1`,
    stateMachineArn: `arn:aws:states:${region}:${account}:stateMachine:${machine}`,
    name: 'prod-1-e1-a1',
    status,
    input: '{}',
    output: null,
    inputDetails: { included: true },
  });
}

/** On nodegap's own bus. */
export function own(source: string, detailType: string, detail: Detail) {
  return { ...awsEvent(source, detailType, detail), EventBusName: ownBus };
}

export function forwarded(cluster: string) {
  return own('nodegap.forwarder', 'Node Unhealthy', {
    cluster,
    node: 'node-1',
    reason: 'NotReady',
  });
}

/** The same event, twenty minutes late. */
export function late(event: PutEventsRequestEntry): PutEventsRequestEntry {
  return { ...event, Time: new Date(Date.now() - 20 * 60_000) };
}
