/**
 * What a call to AWS needs: the request as it went over the wire, read as the IAM actions, resources
 * and condition keys of the Service Authorization Reference.
 *
 * Gotcha: an operation that is not here throws. Whoever adds a call adds its line, with the resource
 * that IAM checks it against, so that the proof never passes by not looking.
 */
import type { AccessRequest } from './policy.ts';

/** A request as the endpoint got it. */
export interface AwsCall {
  /** The name that it was signed for, for example `dynamodb`. */
  service: string;
  region: string;
  method: string;
  /** Path without the query. */
  path: string;
  /** The header `x-amz-target`, of the services that have one endpoint for all operations. */
  target: string | undefined;
  body: string;
}

/** The operation, for example `dynamodb:TransactWriteItems`. */
export function operationOf({ service, method, path, target, body }: AwsCall): string {
  if (target !== undefined) return `${service}:${target.split('.').at(-1)}`;
  const route = restRoutes.find(
    ([of, by, pattern]) => of === service && by === method && pattern.test(path),
  );
  if (route !== undefined) return `${service}:${route[3]}`;
  const action = new URLSearchParams(body).get('Action');
  if (action !== null) return `${service}:${action}`;
  throw new Error(`no operation is known for ${service} ${method} ${path}: add it to restRoutes`);
}

/** The services whose operation is in method and path. */
const restRoutes: [service: string, method: string, path: RegExp, operation: string][] = [
  ['lambda', 'POST', /^\/2015-03-31\/functions\/[^/]+\/invocations$/, 'Invoke'],
  ['eks', 'GET', /^\/clusters\/[^/]+$/, 'DescribeCluster'],
  ['eks', 'GET', /^\/clusters\/[^/]+\/node-groups$/, 'ListNodegroups'],
  ['eks', 'GET', /^\/clusters\/[^/]+\/node-groups\/[^/]+$/, 'DescribeNodegroup'],
  ['s3', 'PUT', /^\/[^/]+\/.+$/, 'PutObject'],
  ['arc-zonal-shift', 'GET', /^\/zonalshifts$/, 'ListZonalShifts'],
  ['arc-zonal-shift', 'GET', /^\/autoshifts$/, 'ListAutoshifts'],
];

/** Where the calls went. */
export interface CalledAccount {
  id: string;
  /** ARN of the state machine that gave out a task token; IAM checks SendTask… against it. */
  machineOf(taskToken: string): string;
  /** The Auto Scaling group of an instance: its tags decide who may end one of its instances. */
  groupOf(instanceId: string): { name: string; tags: Record<string, string> };
}

/** Every access that IAM checks for a call. */
export function accessesOf(call: AwsCall, account: CalledAccount): AccessRequest[] {
  const operation = operationOf(call);
  const rule = rules[operation];
  if (rule === undefined) {
    throw new Error(
      `nothing says what ${operation} needs of IAM: add it to the rules of aws-calls.ts`,
    );
  }
  const arn = (service: string, rest: string) =>
    `arn:aws:${service}:${call.region}:${account.id}:${rest}`;
  return rule({ ...call, account, arn });
}

interface ReadCall extends AwsCall {
  account: CalledAccount;
  arn(service: string, rest: string): string;
}

type Rule = (call: ReadCall) => AccessRequest[];

const rules: Record<string, Rule> = {
  'dynamodb:GetItem': ({ body, arn }) => {
    const { TableName, Key } = JSON.parse(body);
    return [onItems('GetItem', arn('dynamodb', `table/${TableName}`), [keyOf(Key)])];
  },
  'dynamodb:Query': ({ body, arn }) => {
    const query = JSON.parse(body);
    return [onItems('Query', arn('dynamodb', `table/${query.TableName}`), [queriedKey(query)])];
  },
  // Its writes are authorised one by one, as themselves:
  // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
  'dynamodb:TransactWriteItems': ({ body, arn }) =>
    (JSON.parse(body).TransactItems as Record<string, ItemWrite>[])
      .flatMap((each) => Object.entries(each))
      .map(([kind, { TableName, Key, Item }]) =>
        onItems(transactionActions[kind] ?? kind, arn('dynamodb', `table/${TableName}`), [
          keyOf(Key ?? Item ?? {}),
        ]),
      ),
  'sns:Publish': ({ body }) => [
    {
      action: 'sns:Publish',
      resource: new URLSearchParams(body).get('TopicArn') ?? '',
      context: {},
    },
  ],
  'events:PutEvents': ({ body, arn }) =>
    (JSON.parse(body).Entries as Record<string, string>[]).map((entry) => ({
      action: 'events:PutEvents',
      resource: arn('events', `event-bus/${entry.EventBusName ?? 'default'}`),
      context: {
        'events:source': entry.Source ?? '',
        'events:detail-type': entry.DetailType ?? '',
      },
    })),
  'states:StartExecution': ({ body }) => [
    { action: 'states:StartExecution', resource: JSON.parse(body).stateMachineArn, context: {} },
  ],
  'states:DescribeExecution': ({ body }) => [
    { action: 'states:DescribeExecution', resource: JSON.parse(body).executionArn, context: {} },
  ],
  'states:GetExecutionHistory': ({ body }) => [
    {
      action: 'states:GetExecutionHistory',
      resource: JSON.parse(body).executionArn,
      context: {},
    },
  ],
  'states:SendTaskSuccess': ({ body, account }) => [
    {
      action: 'states:SendTaskSuccess',
      resource: account.machineOf(JSON.parse(body).taskToken),
      context: {},
    },
  ],
  'lambda:Invoke': ({ path, arn }) => {
    const name = decodeURIComponent(path.split('/')[3] ?? '');
    return [
      {
        action: 'lambda:InvokeFunction',
        resource: name.startsWith('arn:') ? name : arn('lambda', `function:${name}`),
        context: {},
      },
    ];
  },
  // With the bucket in the path, as a client on loopback calls it.
  's3:PutObject': ({ path }) => [
    {
      action: 's3:PutObject',
      resource: `arn:aws:s3:::${path.slice(1).split('/').map(decodeURIComponent).join('/')}`,
      context: {},
    },
  ],
  'eks:DescribeCluster': ({ path, arn }) => [
    {
      action: 'eks:DescribeCluster',
      resource: arn('eks', `cluster/${path.split('/')[2]}`),
      context: {},
    },
  ],
  'eks:ListNodegroups': ({ path, arn }) => [
    {
      action: 'eks:ListNodegroups',
      resource: arn('eks', `cluster/${path.split('/')[2]}`),
      context: {},
    },
  ],
  'eks:DescribeNodegroup': ({ path, arn }) => {
    const [, , cluster, , group] = path.split('/');
    const anyId = '00000000-0000-0000-0000-000000000000';
    return [
      {
        action: 'eks:DescribeNodegroup',
        resource: arn('eks', `nodegroup/${cluster}/${group}/${anyId}`),
        context: {},
      },
    ];
  },
  ...Object.fromEntries(
    [
      'arc-zonal-shift:ListZonalShifts',
      'arc-zonal-shift:ListAutoshifts',
      'autoscaling:DescribeAutoScalingGroups',
      'autoscaling:DescribeAutoScalingInstances',
      'autoscaling:DescribeInstanceRefreshes',
      'ec2:DescribeInstanceStatus',
      'ec2:DescribeInstances',
      'ec2:DescribeLaunchTemplateVersions',
    ].map((action) => [action, () => [{ action, resource: '*', context: {} }]]),
  ),
  'autoscaling:TerminateInstanceInAutoScalingGroup': ({ body, arn, account }) => {
    const group = account.groupOf(new URLSearchParams(body).get('InstanceId') ?? '');
    return [
      {
        action: 'autoscaling:TerminateInstanceInAutoScalingGroup',
        resource: arn('autoscaling', `autoScalingGroup:0-0-0:autoScalingGroupName/${group.name}`),
        context: Object.fromEntries(
          Object.entries(group.tags).map(([key, value]) => [`aws:ResourceTag/${key}`, value]),
        ),
      },
    ];
  },
};

type DynamoItem = Record<string, { S?: string }>;

interface ItemWrite {
  TableName: string;
  Key?: DynamoItem;
  Item?: DynamoItem;
}

const transactionActions: Record<string, string> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
};

/** Name of the partition key in the state table. */
const partitionKey = 'pk';

function onItems(action: string, resource: string, keys: string[]): AccessRequest {
  return { action: `dynamodb:${action}`, resource, context: { 'dynamodb:LeadingKeys': keys } };
}

function keyOf(item: DynamoItem): string {
  const value = item[partitionKey]?.S;
  if (value === undefined)
    throw new Error(`an item without its partition key: ${JSON.stringify(item)}`);
  return value;
}

/** The partition that a Query is bound to; DynamoDB takes nothing but equality there. */
function queriedKey(query: {
  KeyConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: DynamoItem;
}): string {
  const equalities = (query.KeyConditionExpression ?? '').matchAll(/([#\w]+)\s*=\s*(:\w+)/g);
  for (const [, name = '', value = ''] of equalities) {
    if ((query.ExpressionAttributeNames?.[name] ?? name) !== partitionKey) continue;
    const key = query.ExpressionAttributeValues?.[value]?.S;
    if (key !== undefined) return key;
  }
  throw new Error(`a query without its partition: ${query.KeyConditionExpression}`);
}
