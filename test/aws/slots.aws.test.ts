import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DynamoDbTable } from '../../lib/aws/dynamodb-table.ts';
import type { BreakerConfig } from '../../lib/config/model.ts';
import { NodegapError } from '../../lib/errors.ts';
import { systemPacing } from '../../lib/pacing.ts';
import { breakerOnly, contend, type Run, seededRandom } from '../safety/contention.ts';
import { type Moto, startMoto } from './moto.ts';
import { type Luck, type Met, makeUnlucky } from './unlucky-dynamodb.ts';

let moto: Moto;
let plain: DynamoDBClient;
let tables = 0;

beforeAll(async () => {
  moto = await startMoto();
  plain = newClient();
});
afterAll(async () => {
  plain.destroy();
  await moto.stop();
});

function newClient(): DynamoDBClient {
  return new DynamoDBClient({
    endpoint: moto.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
}

async function newTable(): Promise<string> {
  tables += 1;
  const TableName = `slots-${tables}`;
  await plain.send(
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
  return TableName;
}

const badLuck: Luck = { throttled: 0.03, conflict: 0.15, lostAnswer: 0.08, twice: 0.08 };

interface Contest extends Run {
  met: Met;
  /** Codes of calls that gave up, as often as they did. */
  gaveUp: string[];
}

/** 200 executions against the table as Lambda functions have it, each with bad luck. */
async function contest(
  seed: number,
  limits: BreakerConfig,
  more: { tripAfter?: number; bystanders?: number; meet?: number } = {},
): Promise<Contest> {
  const name = await newTable();
  const random = seededRandom(seed);
  const client = newClient();
  const gaveUp: string[] = [];
  let met: Met | undefined;
  const run = await contend({
    limits,
    random,
    sleep: systemPacing.sleep,
    workFor: 10_000,
    // What the machine tries again (cdk/workflow/states.ts); running out of tries is a failure here.
    isPassing: (error) => {
      if (!(error instanceof NodegapError) || error.code !== 'State.Unavailable') return false;
      gaveUp.push(error.code);
      return true;
    },
    makeTable: (check) => {
      const behind = new DynamoDbTable(plain, name, systemPacing);
      met = makeUnlucky(client, { random, luck: badLuck, afterCommit: () => check(behind) });
      return new DynamoDbTable(client, name, { ...systemPacing, random });
    },
    ...more,
  });
  client.destroy();
  if (met === undefined) throw new Error('no table was made');
  return { ...run, met, gaveUp };
}

/** Everything that was to be met was met, and nobody gave up over it. */
function expectMet({ met, gaveUp, refused }: Contest): void {
  expect(met.conflict).toBeGreaterThan(5);
  expect(met.lostAnswer).toBeGreaterThan(5);
  expect(met.twice).toBeGreaterThan(5);
  expect(met.throttled).toBeGreaterThan(5);
  expect(met.repeated).toBeGreaterThan(0);
  expect(gaveUp).toEqual([]);
  const reasons = ['pool-parallel-cap', 'cluster-parallel-cap', 'hourly-cap'];
  expect([...reasons, 'breaker-open', 'breaker-tripped']).toEqual(
    expect.arrayContaining([...refused.keys()]),
  );
}

// moto takes one request at a time, and of 200 that read the same version one succeeds. So there is
// room for few only: what the 200 do to one another is the same.
describe('200 concurrent executions over two pools, against DynamoDB with bad luck', {
  timeout: 8 * 60_000,
}, () => {
  it('never exceed the caps of pool, cluster and hour', async () => {
    const limits = {
      ...breakerOnly,
      parallelPerPool: 2,
      parallelPerCluster: 3,
      replacementsPerHour: 1,
    };
    const result = await contest(1, limits, { meet: 3 });
    expectMet(result);
    const { refused } = result;
    const pool = refused.get('pool-parallel-cap') ?? 0;
    expect(pool + (refused.get('cluster-parallel-cap') ?? 0)).toBeGreaterThan(0);
    expect(result.committed).toBeLessThanOrEqual(1);
    expect(result.acquired).toBeGreaterThanOrEqual(3);
  });

  it('never push a pool or a zone above the limit of its breaker', async () => {
    // 122 nodes a pool, so 24 may be unhealthy and 22 are: there is room for 2.
    const result = await contest(2, breakerOnly, { bystanders: 22, meet: 4 });
    expectMet(result);
    expect(result.most.unhealthy).toBe(24);
    expect(result.refused.get('breaker-open')).toBeGreaterThan(100);
    expect(result.acquired).toBeGreaterThanOrEqual(4);
  });

  it('begin and commit nothing behind a trip', async () => {
    const result = await contest(3, breakerOnly, { bystanders: 22, tripAfter: 2, meet: 2 });
    expectMet(result);
    expect(result.refused.get('breaker-tripped')).toBeGreaterThan(0);
  });
});
