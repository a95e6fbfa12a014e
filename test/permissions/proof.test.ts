import { describe, expect, it } from 'vitest';
import type { PolicyStatement } from './policy.ts';
import {
  type Exception,
  type FunctionCall,
  refusedCalls,
  rightsOf,
  unusedRights,
} from './proof.ts';

const account = {
  id: '1',
  machineOf: (token: string) => `arn:aws:states:r:1:stateMachine:${token}`,
  groupOf: () => ({ name: 'workers', tags: {} }),
};
const table = 'arn:aws:dynamodb:r:1:table/state';

function transact(items: Record<string, unknown>[], caller = 'scan'): FunctionCall {
  return call('dynamodb', 'DynamoDB_20120810.TransactWriteItems', { TransactItems: items }, caller);
}

function call(service: string, target: string, body: unknown, caller = 'scan'): FunctionCall {
  return {
    caller,
    service,
    region: 'r',
    method: 'POST',
    path: '/',
    target,
    body: JSON.stringify(body),
  };
}

const put = (pk: string) => ({
  Put: { TableName: 'state', Item: { pk: { S: pk }, sk: { S: 's' } } },
});
const check = (pk: string) => ({
  ConditionCheck: { TableName: 'state', Key: { pk: { S: pk }, sk: { S: 's' } } },
});

function allow(...Action: string[]): PolicyStatement {
  return { Effect: 'Allow', Action, Resource: table };
}

function refused(calls: FunctionCall[], statements: PolicyStatement[]): string[] {
  const policies = { of: (name: string) => (name === 'scan' ? statements : undefined) };
  return refusedCalls(calls, policies, account);
}

describe('a call', () => {
  it('is refused by its function and action when its role does not grant it', () => {
    expect(refused([transact([put('a'), check('b')])], [allow('dynamodb:PutItem')])).toEqual([
      `scan calls dynamodb:TransactWriteItems, but dynamodb:ConditionCheckItem on ${table} with dynamodb:LeadingKeys b is not granted to its role`,
    ]);
  });

  it('is refused when a Deny is about its very item', () => {
    const deny: PolicyStatement = {
      Effect: 'Deny',
      Action: 'dynamodb:PutItem',
      Resource: table,
      Condition: { 'ForAnyValue:StringEquals': { 'dynamodb:LeadingKeys': ['CONFIG'] } },
    };
    const role = [allow('dynamodb:PutItem'), deny];
    expect(refused([transact([put('a')])], role)).toEqual([]);
    expect(refused([transact([put('a'), put('CONFIG')])], role)).toEqual([
      expect.stringMatching(/PutItem on .* with dynamodb:LeadingKeys CONFIG is denied to its role/),
    ]);
  });

  it('is refused on another resource than the granted one', () => {
    const statement = { ...allow('dynamodb:PutItem'), Resource: `${table}-of-another` };
    expect(refused([transact([put('a')])], [statement])).toHaveLength(1);
  });

  it('of a function without a role is told', () => {
    expect(refused([transact([put('a')], 'stranger')], [])).toEqual([
      'stranger has no role in the stack, and calls dynamodb:TransactWriteItems',
    ]);
  });

  it('that nobody has a rule for is no proof of anything', () => {
    const calls = [call('dynamodb', 'DynamoDB_20120810.Scan', {})];
    expect(() => refused(calls, [allow('dynamodb:*')])).toThrow(/dynamodb:Scan/);
    const rest = { ...call('s3', '', {}), target: undefined, method: 'GET', path: '/bucket' };
    expect(() => refused([rest], [allow('s3:*')])).toThrow(/s3 GET \/bucket/);
  });

  it('that answers a task is checked against the machine of its token', () => {
    const answer = call('states', 'AWSStepFunctions.SendTaskSuccess', { taskToken: 'mine' });
    const role = (machine: string): PolicyStatement[] => [
      {
        Effect: 'Allow',
        Action: 'states:SendTaskSuccess',
        Resource: `arn:aws:states:r:1:stateMachine:${machine}`,
      },
    ];
    expect(refused([answer], role('mine'))).toEqual([]);
    expect(refused([answer], role('other'))).toHaveLength(1);
  });

  it('of a query is checked against the partition that it reads', () => {
    const query = call('dynamodb', 'DynamoDB_20120810.Query', {
      TableName: 'state',
      KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :prefix)',
      ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk' },
      ExpressionAttributeValues: { ':pk': { S: 'cluster#prod' }, ':prefix': { S: 'slot#' } },
    });
    const only = (pk: string): PolicyStatement[] => [
      {
        ...allow('dynamodb:Query'),
        Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [pk] } },
      },
    ];
    expect(refused([query], only('cluster#prod'))).toEqual([]);
    expect(refused([query], only('cluster#other'))).toHaveLength(1);
  });
});

describe('a right', () => {
  const granted = [allow('dynamodb:PutItem', 'dynamodb:DeleteItem'), allow('logs:PutLogEvents')];
  const rights = rightsOf('scan', granted);
  const logs: Exception = {
    functions: /./,
    actions: ['logs:PutLogEvents'],
    reason: 'Lambda does it',
  };
  const unused = (calls: FunctionCall[], exceptions: Exception[]) =>
    unusedRights(rights, calls, exceptions, account);

  it('that nobody uses is told by function and action', () => {
    expect(unused([transact([put('a')])], [logs])).toEqual([
      expect.stringMatching(/^scan may call dynamodb:DeleteItem, and no recorded call/),
    ]);
  });

  it('is not used by the call of another function', () => {
    expect(unused([transact([put('a')], 'report')], [logs])).toHaveLength(2);
  });

  it('needs no call when an exception says why', () => {
    const writes = { ...logs, actions: ['dynamodb:PutItem', 'dynamodb:DeleteItem'] };
    expect(unused([], [logs, writes])).toEqual([]);
  });

  it('that is used needs no exception', () => {
    const puts = { ...logs, actions: ['dynamodb:PutItem', 'dynamodb:DeleteItem'] };
    expect(unused([transact([put('a')])], [logs, puts])).toEqual([
      'the exception for dynamodb:PutItem (Lambda does it) excuses nothing',
    ]);
  });

  it('is no right when it is denied', () => {
    expect(rightsOf('scan', [{ ...allow('dynamodb:PutItem'), Effect: 'Deny' }])).toEqual([]);
  });
});
