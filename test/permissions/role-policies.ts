/** What the synthesized stack lets each function do, with the references that AWS would fill in. */
import type { Template } from 'aws-cdk-lib/assertions';
import { functionsOf, resourcesOf, roleOf, statementsOf } from '../cdk/synthesis.ts';
import type { PolicyStatement } from './policy.ts';

/** An installation in an account: the names of its resources begin with its prefix. */
export interface Place {
  account: string;
  region: string;
  prefix: string;
}

/** Name of the stack that is synthesized, and first part of every name in it. */
const synthesizedPrefix = 'nodegap';

/** ARNs of resources by their type; what is not named in the template gets a name of the tests. */
const arnOf: Record<string, (properties: Record<string, string>, id: string) => string> = {
  'AWS::DynamoDB::Table': () => `dynamodb:<place>:table/${synthesizedPrefix}-state`,
  'AWS::SNS::Topic': () => `sns:<place>:${synthesizedPrefix}`,
  'AWS::Events::EventBus': ({ Name }) => `events:<place>:event-bus/${Name}`,
  'AWS::SQS::Queue': ({ QueueName }) => `sqs:<place>:${QueueName}`,
  'AWS::Lambda::Function': ({ FunctionName }) => `lambda:<place>:function:${FunctionName}`,
  'AWS::Logs::LogGroup': ({ LogGroupName }) => `logs:<place>:log-group:${LogGroupName}:*`,
  'AWS::S3::Bucket': () => `s3:::${synthesizedPrefix}-evidence`,
  'AWS::KMS::Key': (_properties, id) => `kms:<place>:key/${id}`,
};

/** The policy statements of every function, by the name that it has in AWS. */
export function functionPolicies(template: Template, place: Place): Map<string, PolicyStatement[]> {
  const names = [...functionsOf(template).keys()];
  return new Map(
    names.map((name) => [
      named(name, place),
      statementsOf(template, roleOf(template, name)).map(
        (statement) => resolve(template, statement, place) as PolicyStatement,
      ),
    ]),
  );
}

/** Puts the prefix of the installation where the name of the stack stands. */
function named(text: string, { prefix }: Place): string {
  return text.replaceAll(new RegExp(`(?<=^|[:/])${synthesizedPrefix}(?=-|$)`, 'g'), () => prefix);
}

function resolve(template: Template, value: unknown, place: Place): unknown {
  if (typeof value === 'string') return named(value, place);
  if (Array.isArray(value)) return value.map((each) => resolve(template, each, place));
  if (typeof value !== 'object' || value === null) return value;
  if ('Ref' in value) return reference(template, String(value.Ref), 'Ref', place);
  if ('Fn::GetAtt' in value) {
    const [id, attribute] = value['Fn::GetAtt'] as [string, string];
    return reference(template, id, attribute, place);
  }
  if ('Fn::Join' in value) {
    const [separator, parts] = value['Fn::Join'] as [string, unknown[]];
    return parts.map((part) => resolve(template, part, place)).join(separator);
  }
  const fields = Object.entries(value).map(([key, each]) => [key, resolve(template, each, place)]);
  return Object.fromEntries(fields);
}

function reference(template: Template, id: string, attribute: string, place: Place): string {
  if (id === 'AWS::Partition') return 'aws';
  for (const [type, arn] of Object.entries(arnOf)) {
    const properties = resourcesOf(template, type)[id]?.Properties;
    // The ARN is what the `Ref` of a topic gives, and no other that policies name.
    if (properties === undefined || (attribute === 'Ref') !== (type === 'AWS::SNS::Topic'))
      continue;
    const { account, region } = place;
    return named(
      `arn:aws:${arn(properties, id)}`.replace('<place>', `${region}:${account}`),
      place,
    );
  }
  throw new Error(`no ARN is known for ${id}.${attribute}: add its type to role-policies.ts`);
}
