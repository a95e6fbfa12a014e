import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fleet, functionsOf, resourcesOf, synthesize, textOf } from './synthesis.ts';

const template = synthesize(fleet)['nodegap-111111111111-eu-west-1'];
if (template === undefined) throw new Error('the stack is missing');

const rules = Object.entries(resourcesOf(template, 'AWS::Events::Rule'));
const queues = Object.entries(resourcesOf(template, 'AWS::SQS::Queue'));
const policies = Object.values(resourcesOf(template, 'AWS::SQS::QueuePolicy'));

type Fields = Record<string, unknown>;

/** Matches the part of the pattern language that the rules use: lists of exact values. */
function matches(pattern: Fields, event: Fields): boolean {
  return Object.entries(pattern).every(([field, wanted]) => {
    const value = event[field];
    if (Array.isArray(wanted)) return wanted.includes(value);
    return typeof value === 'object' && matches(wanted as Fields, value as Fields);
  });
}

/** The queues that an event on that bus ends in. */
function destinations(bus: 'default' | 'nodegap', event: Fields): string[] {
  return rules
    .filter(([, { Properties }]) => {
      const own = Properties.EventBusName === undefined ? 'default' : 'nodegap';
      return own === bus && matches(Properties.EventPattern, event);
    })
    .flatMap(([, { Properties }]) =>
      Properties.Targets.map((each: { Arn: unknown }) => nameOf(each.Arn)),
    );
}

function nameOf(arn: unknown): string {
  const id = textOf(arn).slice(1).split('.')[0];
  const queue = queues.find(([each]) => each === id);
  return queue?.[1].Properties.QueueName;
}

function ec2(detailType: string, detail: Fields = {}): Fields {
  return {
    source: 'aws.ec2',
    'detail-type': detailType,
    detail: { 'instance-id': 'i-1', ...detail },
  };
}

const ended = (status: string, machine = 'nodegap-inner-remediate-node') => ({
  source: 'aws.states',
  'detail-type': 'Step Functions Execution Status Change',
  detail: {
    status,
    stateMachineArn: `arn:aws:states:eu-west-1:111111111111:stateMachine:${machine}`,
  },
});

describe('an event of AWS', () => {
  it.each([
    ec2('EC2 Instance State-change Notification', { state: 'running' }),
    ec2('EC2 Instance State-change Notification', { state: 'stopping' }),
    ec2('EC2 Instance State-change Notification', { state: 'stopped' }),
    ec2('EC2 Instance State-change Notification', { state: 'shutting-down' }),
    ec2('EC2 Instance State-change Notification', { state: 'terminated' }),
    ec2('EC2 Spot Instance Interruption Warning', { 'instance-action': 'terminate' }),
    ec2('EC2 Instance Rebalance Recommendation'),
    { source: 'aws.health', 'detail-type': 'AWS Health Event', detail: { service: 'EC2' } },
    { source: 'aws.eks', 'detail-type': 'EKS Addon Health Degraded', detail: {} },
    { source: 'aws.eks', 'detail-type': 'EKS Addon Health Restored', detail: {} },
    {
      source: 'aws.autoscaling',
      'detail-type': 'EC2 Instance-terminate Lifecycle Action',
      detail: { EC2InstanceId: 'i-1' },
    },
  ])('$detail-type $detail reaches the router', (event) => {
    expect(destinations('default', event)).toEqual(['nodegap-events']);
  });

  it.each([
    ec2('EC2 Instance State-change Notification', { state: 'pending' }),
    { source: 'aws.health', 'detail-type': 'AWS Health Event', detail: { service: 'RDS' } },
    { source: 'aws.eks', 'detail-type': 'EKS Addon Update Succeeded', detail: {} },
    ended('RUNNING'),
    ended('SUCCEEDED'),
    ended('FAILED', 'someone-elses'),
  ])('$detail-type $detail is left alone', (event) => {
    expect(destinations('default', event)).toEqual([]);
  });

  it.each(['FAILED', 'TIMED_OUT', 'ABORTED'])(
    'says that an execution %s to the janitor',
    (status) => {
      expect(destinations('default', ended(status))).toEqual(['nodegap-janitor']);
    },
  );
});

describe('an event on the nodegap bus', () => {
  it.each([
    ['nodegap', 'Node Gap Found'],
    ['nodegap', 'Node Requested'],
    ['nodegap', 'Admission Wanted'],
    ['nodegap', 'Condition Taints Due'],
    ['nodegap.forwarder', 'Node Unhealthy'],
  ])('of %s, %s, reaches the router', (source, type) => {
    const event = { source, 'detail-type': type, detail: {} };
    expect(destinations('nodegap', event)).toEqual(['nodegap-events']);
  });

  it('of anyone else is left alone', () => {
    const event = { source: 'someone', 'detail-type': 'Node Gap Found', detail: {} };
    expect(destinations('nodegap', event)).toEqual([]);
  });
});

describe('a rule', () => {
  it.each(rules)('%s tries for 15 minutes and keeps what it could not deliver', (_id, rule) => {
    for (const target of rule.Properties.Targets) {
      expect(target.RetryPolicy).toEqual({
        MaximumEventAgeInSeconds: 900,
        MaximumRetryAttempts: 8,
      });
      expect(nameOf(target.DeadLetterConfig.Arn)).toBe(`${nameOf(target.Arn)}-dead-letters`);
    }
  });

  it.each(rules)('%s may send to its queue and to its dead letters', (id, rule) => {
    for (const target of rule.Properties.Targets) {
      for (const arn of [target.Arn, target.DeadLetterConfig.Arn]) {
        expect(sourcesOf(textOf(arn)), textOf(arn)).toContain(`<${id}.Arn>`);
      }
    }
  });

  /** The rules that the policy of a queue lets in. */
  function sourcesOf(queueArn: string): string[] {
    return policies
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(
        (each) =>
          each.Effect === 'Allow' &&
          each.Principal.Service === 'events.amazonaws.com' &&
          [each.Action].flat().includes('sqs:SendMessage') &&
          textOf(each.Resource) === queueArn,
      )
      .map((each) => textOf(each.Condition.ArnEquals['aws:SourceArn']));
  }
});

describe('a queue', () => {
  it.each(queues)('%s is encrypted and refuses plain text on the wire', (id, { Properties }) => {
    expect(Properties.SqsManagedSseEnabled).toBe(true);
    const denied = policies
      .filter((policy) => policy.Properties.Queues.some((each: { Ref: string }) => each.Ref === id))
      .flatMap((policy) => policy.Properties.PolicyDocument.Statement)
      .filter((each) => each.Effect === 'Deny');
    expect(denied).toEqual([
      expect.objectContaining({
        Action: 'sqs:*',
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      }),
    ]);
  });

  it('is read in batches that may fail in part, well within its visibility', () => {
    const mappings = Object.values(resourcesOf(template, 'AWS::Lambda::EventSourceMapping'));
    const read = mappings.map(({ Properties }) => {
      const queue = queues.find(([id]) => textOf(Properties.EventSourceArn) === `<${id}.Arn>`)?.[1];
      const reader = [...functionsOf(template)].find(
        ([name]) =>
          resourcesOf(template, 'AWS::Lambda::Function')[Properties.FunctionName.Ref]?.Properties
            .FunctionName === name,
      );
      expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
      expect(queue?.Properties.VisibilityTimeout).toBe(6 * (reader?.[1].Properties.Timeout ?? 0));
      expect(nameOf(queue?.Properties.RedrivePolicy.deadLetterTargetArn)).toBe(
        `${queue?.Properties.QueueName}-dead-letters`,
      );
      return [queue?.Properties.QueueName, reader?.[0]];
    });
    expect(read).toEqual([
      ['nodegap-events', 'nodegap-route-event'],
      ['nodegap-janitor', 'nodegap-janitor'],
    ]);
  });
});

describe('a function that reads a queue', () => {
  it.each(['route-event', 'janitor'])('%s takes batches and says which messages failed', (name) => {
    const source = readFileSync(new URL(`../../functions/${name}.ts`, import.meta.url), 'utf8');
    expect(source.includes('processPartialResponse('), 'handles an SQS batch').toBe(true);
  });
});

describe('the topic', () => {
  it('is encrypted with a key of its own that alarms of this stack can use', () => {
    const [topic] = Object.values(resourcesOf(template, 'AWS::SNS::Topic'));
    const [[keyId, key] = []] = Object.entries(resourcesOf(template, 'AWS::KMS::Key'));
    expect(textOf(topic?.Properties.KmsMasterKeyId)).toBe(`<${keyId}.Arn>`);
    expect(key?.Properties.EnableKeyRotation).toBe(true);
    const [topicPolicy] = Object.values(resourcesOf(template, 'AWS::SNS::TopicPolicy'));
    for (const statements of [
      key?.Properties.KeyPolicy.Statement,
      topicPolicy?.Properties.PolicyDocument.Statement,
    ]) {
      expect(statements).toContainEqual(
        expect.objectContaining({
          Effect: 'Allow',
          Principal: { Service: 'cloudwatch.amazonaws.com' },
          Condition: {
            StringEquals: { 'aws:SourceAccount': '111111111111' },
            ArnLike: {
              'aws:SourceArn': 'arn:aws:cloudwatch:eu-west-1:111111111111:alarm:nodegap-*',
            },
          },
        }),
      );
    }
  });
});
