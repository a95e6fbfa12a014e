import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DynamoDbTable } from '../../lib/aws/dynamodb-table.ts';
import { systemPacing } from '../../lib/pacing.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { describeStateTable } from '../local/table-contract.ts';
import { breakerLimits, countsOf, slotRequest } from '../safety/samples.ts';
import { type Moto, oneRequestAtATime, startMoto } from './moto.ts';

let moto: Moto;
let client: DynamoDBClient;
let tables = 0;

beforeAll(async () => {
  moto = await startMoto();
  client = oneRequestAtATime(
    new DynamoDBClient({
      endpoint: moto.endpoint,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    }),
  );
});
afterAll(async () => {
  client.destroy();
  await moto.stop();
});

/** Each test has a table of its own. */
async function newTable(): Promise<DynamoDbTable> {
  tables += 1;
  const TableName = `state-${tables}`;
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    }),
  );
  return new DynamoDbTable(client, TableName, systemPacing);
}

// moto forgets request tokens at once, so what DynamoDB does with them is tested in
// test/aws-adapters/dynamodb-table.test.ts.
describeStateTable('DynamoDbTable on moto', newTable);

describe('Slots on DynamoDB', () => {
  it('keeps concurrent executions within the caps, and gives everything back', async () => {
    const table = await newTable();
    const now = 1_764_500_000_000;
    const limits = { ...breakerLimits, parallelPerPool: 2, parallelPerCluster: 3 };
    const slots = new Slots(table, { now: () => now }, limits, systemPacing);
    const nodes = Array.from({ length: 10 }, (_, n) => ({
      name: `node-${n}`,
      pool: n % 2 === 0 ? 'even' : 'odd',
    }));
    const counts = countsOf({
      percent: 100,
      nodes: nodes.map(({ name, pool }) => ({ name, pool, unhealthy: true })),
    });
    const requests = nodes.map(({ name, pool }) =>
      slotRequest({ node: name, pool, counts, countedAt: now }),
    );
    const outcomes = await Promise.all(requests.map((request) => slots.acquire(request)));
    const acquired = outcomes.filter(({ kind }) => kind === 'acquired');
    expect(acquired).toHaveLength(3);
    const held = await slots.list('prod');
    expect(held.filter(({ pool }) => pool === 'even').length).toBeLessThanOrEqual(2);
    expect(new Set(held.map(({ fence }) => fence)).size).toBe(3);

    const [first, second, third] = held;
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    await expect(slots.commit(first)).resolves.toEqual({ kind: 'committed' });
    await expect(slots.commit(first)).resolves.toEqual({ kind: 'committed' });
    await expect(slots.park(second)).resolves.toEqual({ kind: 'parked' });
    await expect(slots.resume(second)).resolves.toEqual({ kind: 'resumed' });
    await expect(slots.release(first)).resolves.toBe('committed');
    await expect(slots.release(first, { verified: true })).resolves.toBe('released');
    for (const slot of [second, third]) {
      await expect(slots.release(slot)).resolves.toBe('released');
    }
    await expect(slots.release(third)).resolves.toBe('absent');
    await expect(slots.list('prod')).resolves.toEqual([]);
  });
});
