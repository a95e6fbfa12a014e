import {
  type CancellationReason,
  DynamoDBClient,
  GetItemCommand,
  IdempotentParameterMismatchException,
  InternalServerError,
  ProvisionedThroughputExceededException,
  QueryCommand,
  ResourceNotFoundException,
  TransactionCanceledException,
  TransactionInProgressException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { DynamoDbTable } from '../../lib/aws/dynamodb-table.ts';
import type { Write } from '../../lib/ports.ts';

const dynamo = mockClient(DynamoDBClient);
let slept: number[];
let table: DynamoDbTable;

beforeEach(() => {
  dynamo.reset();
  slept = [];
  table = new DynamoDbTable(new DynamoDBClient({ region: 'eu-west-1' }), 'state', {
    random: () => 0.5,
    sleep: async (ms) => {
      slept.push(ms);
    },
  });
});

const key = { pk: 'cluster#prod', sk: 'slot#1' };
const put: Write = { kind: 'put', item: { ...key, fence: 1 }, condition: { kind: 'absent' } };
const info = { $metadata: {}, message: 'told by the mock' };

function cancelled(...reasons: CancellationReason[]): TransactionCanceledException {
  return new TransactionCanceledException({ ...info, CancellationReasons: reasons });
}

const tokens = () =>
  dynamo
    .commandCalls(TransactWriteItemsCommand)
    .map(({ args }) => args[0].input.ClientRequestToken);

describe('transact', () => {
  it('sends structured writes as expressions with placeholders only', async () => {
    dynamo.on(TransactWriteItemsCommand).resolves({});
    await table.transact(
      [
        put,
        {
          kind: 'update',
          key: { pk: 'p', sk: 'places' },
          set: { state: 'x', list: ['a', 1] },
          remove: ['old'],
          increment: { version: 1 },
          addToSet: { inWork: ['u'] },
          removeFromSet: { working: ['w'] },
          condition: {
            kind: 'all',
            of: [
              { kind: 'equals', attribute: 'version', value: 4 },
              { kind: 'set-smaller-than', attribute: 'working', limit: 3 },
            ],
          },
        },
        {
          kind: 'delete',
          key: { pk: 'p', sk: 'd' },
          condition: { kind: 'less-than', attribute: 'until', value: 5 },
        },
        { kind: 'check', key: { pk: 'p', sk: 'c' }, condition: { kind: 'present' } },
      ],
      'token',
    );
    const [call] = dynamo.commandCalls(TransactWriteItemsCommand);
    const common = { TableName: 'state', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
    expect(call?.args[0].input).toEqual({
      ClientRequestToken: 'token',
      TransactItems: [
        {
          Put: {
            ...common,
            Item: { pk: { S: 'cluster#prod' }, sk: { S: 'slot#1' }, fence: { N: '1' } },
            ConditionExpression: 'attribute_not_exists(#n0)',
            ExpressionAttributeNames: { '#n0': 'pk' },
          },
        },
        {
          Update: {
            ...common,
            Key: { pk: { S: 'p' }, sk: { S: 'places' } },
            ConditionExpression: '(#n0 = :v0 AND (attribute_not_exists(#n1) OR size(#n1) < :v1))',
            UpdateExpression:
              'SET #n2 = :v2, #n3 = :v3 REMOVE #n4 ADD #n0 :v4, #n5 :v5 DELETE #n1 :v6',
            ExpressionAttributeNames: {
              '#n0': 'version',
              '#n1': 'working',
              '#n2': 'state',
              '#n3': 'list',
              '#n4': 'old',
              '#n5': 'inWork',
            },
            ExpressionAttributeValues: {
              ':v0': { N: '4' },
              ':v1': { N: '3' },
              ':v2': { S: 'x' },
              ':v3': { L: [{ S: 'a' }, { N: '1' }] },
              ':v4': { N: '1' },
              ':v5': { SS: ['u'] },
              ':v6': { SS: ['w'] },
            },
          },
        },
        {
          Delete: {
            ...common,
            Key: { pk: { S: 'p' }, sk: { S: 'd' } },
            ConditionExpression: '#n0 < :v0',
            ExpressionAttributeNames: { '#n0': 'until' },
            ExpressionAttributeValues: { ':v0': { N: '5' } },
          },
        },
        {
          ConditionCheck: {
            ...common,
            Key: { pk: { S: 'p' }, sk: { S: 'c' } },
            ConditionExpression: 'attribute_exists(#n0)',
            ExpressionAttributeNames: { '#n0': 'pk' },
          },
        },
      ],
    });
  });

  it('retries a conflict with jitter under the same token, and reports no failed condition', async () => {
    const conflict = cancelled({ Code: 'None' }, { Code: 'TransactionConflict' });
    dynamo
      .on(TransactWriteItemsCommand)
      .rejectsOnce(conflict)
      .rejectsOnce(conflict)
      .rejectsOnce(conflict)
      .resolves({});
    await expect(table.transact([put])).resolves.toEqual({ kind: 'committed' });
    expect(slept).toEqual([13, 25, 50]);
    const sent = tokens();
    expect(sent).toHaveLength(4);
    expect(new Set(sent).size).toBe(1);
    expect(sent[0]).toMatch(/^.{1,36}$/);
  });

  it('gives every transaction without a token one of its own', async () => {
    dynamo.on(TransactWriteItemsCommand).resolves({});
    await table.transact([put]);
    await table.transact([put]);
    expect(new Set(tokens()).size).toBe(2);
  });

  it.each([
    ['throttling of the table', new ProvisionedThroughputExceededException(info)],
    ['throttling within the transaction', cancelled({ Code: 'ThrottlingError' })],
    ['the same request still under way', new TransactionInProgressException(info)],
    ['an error of the server', new InternalServerError(info)],
  ])('retries %s', async (_what, error) => {
    dynamo.on(TransactWriteItemsCommand).rejectsOnce(error).resolves({});
    await expect(table.transact([put], 'token')).resolves.toEqual({ kind: 'committed' });
    expect(tokens()).toEqual(['token', 'token']);
  });

  it('reports the first failed condition with the item as it stood, whatever else went wrong', async () => {
    dynamo.on(TransactWriteItemsCommand).rejects(
      cancelled(
        { Code: 'TransactionConflict' },
        {
          Code: 'ConditionalCheckFailed',
          Item: { pk: { S: 'p' }, sk: { S: 's' }, inWork: { SS: ['u'] }, fence: { N: '7' } },
        },
        { Code: 'ConditionalCheckFailed' },
      ),
    );
    await expect(table.transact([put])).resolves.toEqual({
      kind: 'condition-failed',
      index: 1,
      item: { pk: 'p', sk: 's', inWork: new Set(['u']), fence: 7 },
    });
    expect(slept).toEqual([]);
  });

  it('reports a failed condition on an item that was not there without an item', async () => {
    dynamo.on(TransactWriteItemsCommand).rejects(cancelled({ Code: 'ConditionalCheckFailed' }));
    await expect(table.transact([put])).resolves.toEqual({
      kind: 'condition-failed',
      index: 0,
      item: undefined,
    });
  });

  it('says that a token was used for other writes, and does not try again', async () => {
    dynamo.on(TransactWriteItemsCommand).rejects(new IdempotentParameterMismatchException(info));
    await expect(table.transact([put], 'token')).rejects.toMatchObject({
      code: 'State.TokenMismatch',
    });
    expect(tokens()).toHaveLength(1);
  });

  it.each([
    ['throttling after 10 tries', 10, new ProvisionedThroughputExceededException(info)],
    ['a conflict after 30 tries', 30, cancelled({ Code: 'TransactionConflict' })],
  ])('gives up %s, with the cause', async (_what, tries, cause) => {
    dynamo.on(TransactWriteItemsCommand).rejects(cause);
    await expect(table.transact([put])).rejects.toMatchObject({ code: 'State.Unavailable', cause });
    expect(tokens()).toHaveLength(tries);
    expect(new Set(tokens()).size).toBe(1);
    expect(Math.max(...slept)).toBeLessThanOrEqual(2_000);
  });

  it.each([
    ['a table that is not there', new ResourceNotFoundException(info)],
    ['a write that is not valid', cancelled({ Code: 'ValidationError' }, { Code: 'None' })],
    [
      'a mix of conflict and mistake',
      cancelled({ Code: 'TransactionConflict' }, { Code: 'ValidationError' }),
    ],
  ])('does not try again for %s', async (_what, error) => {
    dynamo.on(TransactWriteItemsCommand).rejects(error);
    await expect(table.transact([put])).rejects.toMatchObject({ code: 'State.Unavailable' });
    expect(tokens()).toHaveLength(1);
  });
});

describe('reads', () => {
  it('are strongly consistent', async () => {
    dynamo.on(GetItemCommand).resolves({});
    dynamo.on(QueryCommand).resolves({ Items: [] });
    await table.get(key);
    await table.query('p', 'slot#');
    await table.query('p', '');
    expect(dynamo.commandCalls(GetItemCommand)[0]?.args[0].input).toMatchObject({
      ConsistentRead: true,
    });
    const [prefixed, whole] = dynamo.commandCalls(QueryCommand).map(({ args }) => args[0].input);
    expect(prefixed).toMatchObject({
      ConsistentRead: true,
      KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :prefix)',
    });
    expect(whole).toMatchObject({ ConsistentRead: true, KeyConditionExpression: '#pk = :pk' });
  });

  it('follow all pages', async () => {
    const page = (sk: string) => ({ Items: [{ pk: { S: 'p' }, sk: { S: sk } }] });
    dynamo
      .on(QueryCommand)
      .resolvesOnce({ ...page('a'), LastEvaluatedKey: { pk: { S: 'p' }, sk: { S: 'a' } } })
      .resolvesOnce(page('b'));
    await expect(table.query('p', '')).resolves.toEqual([
      { pk: 'p', sk: 'a' },
      { pk: 'p', sk: 'b' },
    ]);
  });

  it('start again when a page is throttled, and never return a part', async () => {
    const first = {
      Items: [{ pk: { S: 'p' }, sk: { S: 'a' } }],
      LastEvaluatedKey: { pk: { S: 'p' }, sk: { S: 'a' } },
    };
    dynamo
      .on(QueryCommand)
      .resolvesOnce(first)
      .rejectsOnce(new ProvisionedThroughputExceededException(info))
      .resolvesOnce(first)
      .resolvesOnce({ Items: [{ pk: { S: 'p' }, sk: { S: 'b' } }] });
    await expect(table.query('p', '')).resolves.toHaveLength(2);
  });

  it('refuse a value that nodegap never writes', async () => {
    const Item = { pk: { S: 'p' }, sk: { S: 's' }, bytes: { B: new Uint8Array([1]) } };
    dynamo.on(GetItemCommand).resolves({ Item });
    dynamo.on(QueryCommand).resolves({ Items: [Item] });
    await expect(table.get(key)).rejects.toMatchObject({ code: 'State.Corrupt' });
    await expect(table.query('p', '')).rejects.toMatchObject({ code: 'State.Corrupt' });
  });
});
