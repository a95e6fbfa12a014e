/**
 * Buses, rules and queues of the synthesized stack, made in an account: the patterns and targets as
 * CloudFormation would get them.
 */
import {
  CreateEventBusCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import type { Template } from 'aws-cdk-lib/assertions';
import { type Resource, resourcesOf } from '../cdk/synthesis.ts';
import type { Account, Queue } from './account.ts';

/** The queues by their names in AWS. */
export async function deployEvents(aws: Account, template: Template): Promise<Map<string, Queue>> {
  const buses = resourcesOf(template, 'AWS::Events::EventBus');
  for (const { Properties } of Object.values(buses)) {
    await aws.events.send(new CreateEventBusCommand({ Name: Properties.Name }));
  }
  const queues = new Map<string, Queue>();
  const byId = new Map<string, Queue>();
  for (const [id, { Properties }] of Object.entries(resourcesOf(template, 'AWS::SQS::Queue'))) {
    const queue = await aws.createQueue(Properties.QueueName);
    queues.set(Properties.QueueName, queue);
    byId.set(id, queue);
  }
  /** The value that CloudFormation would fill in. */
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(resolve);
    if ('Ref' in value) return refOf(String(value.Ref), buses);
    if ('Fn::GetAtt' in value && Array.isArray(value['Fn::GetAtt'])) {
      const [id, attribute] = value['Fn::GetAtt'];
      const queue = byId.get(id);
      if (attribute === 'Arn' && queue !== undefined) return queue.arn;
    }
    if ('Fn::Join' in value && Array.isArray(value['Fn::Join'])) {
      const [separator, parts] = value['Fn::Join'];
      return (resolve(parts) as string[]).join(separator);
    }
    const fields = Object.entries(value).map(([name, field]) => [name, resolve(field)]);
    if (fields.some(([name]) => String(name).startsWith('Fn::'))) {
      throw new Error(`no value for ${JSON.stringify(value)}`);
    }
    return Object.fromEntries(fields);
  };
  for (const [id, { Properties }] of Object.entries(resourcesOf(template, 'AWS::Events::Rule'))) {
    const bus = resolve(Properties.EventBusName) as string | undefined;
    const at = bus === undefined ? {} : { EventBusName: bus };
    const EventPattern = JSON.stringify(resolve(Properties.EventPattern));
    await aws.events.send(new PutRuleCommand({ Name: id, ...at, EventPattern }));
    const Targets = resolve(Properties.Targets) as { Id: string; Arn: string }[];
    await aws.events.send(new PutTargetsCommand({ Rule: id, ...at, Targets }));
  }
  return queues;
}

function refOf(name: string, buses: Record<string, Resource>): string {
  if (name === 'AWS::Partition') return 'aws';
  const bus = buses[name];
  if (bus === undefined) throw new Error(`no value for the reference ${name}`);
  return bus.Properties.Name;
}
