/**
 * The state table on DynamoDB.
 *
 * Gotchas: every transaction carries a request token, also when the caller gives none, so that a
 * try whose answer got lost is not carried out again. Conflicts with other transactions and
 * throttling are retried here: they say nothing about the conditions. A token that was used for
 * other writes is the caller's mistake and is thrown.
 */
import { randomUUID } from 'node:crypto';
import {
  type CancellationReason,
  type DynamoDBClient,
  GetItemCommand,
  IdempotentParameterMismatchException,
  paginateQuery,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import { messageOf, NodegapError } from '../errors.ts';
import { backoffMs, type Pacing } from '../pacing.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../ports.ts';
import { checkWrites } from '../safety/table-writes.ts';
import { keyOf, transactItem } from './dynamodb-expressions.ts';
import { itemFromDynamo } from './dynamodb-values.ts';

/**
 * How often a request is tried. A conflict is no failure of the service: of 200 executions that
 * change one item at the same time, the unluckiest meets about 20 (test/safety/slots-crowd.test.ts).
 */
export const TRIES = { conflict: 30, other: 10 };
export const BACKOFF = { baseMs: 25, maxMs: 2_000 };

/** Errors that pass. The SDK retries most of them too, but fewer times than a busy item needs. */
const PASSING_ERRORS = new Set([
  'TransactionInProgressException',
  'TransactionConflictException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'InternalServerError',
  'ServiceUnavailable',
  'TimeoutError',
]);
const PASSING_REASONS = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

export class DynamoDbTable implements StateTable {
  readonly #client: DynamoDBClient;
  readonly #name: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBClient, tableName: string, deps: Pacing) {
    this.#client = client;
    this.#name = tableName;
    this.#pacing = deps;
  }

  async get(key: ItemKey): Promise<Item | undefined> {
    const { Item: found } = await this.#withRetries(`reading ${key.pk} ${key.sk}`, () =>
      this.#client.send(
        new GetItemCommand({ TableName: this.#name, Key: keyOf(key), ConsistentRead: true }),
      ),
    );
    return found === undefined ? undefined : itemFromDynamo(found);
  }

  async query(pk: string, prefix: string): Promise<Item[]> {
    // An empty prefix is left out: DynamoDB refuses an empty string as a key value.
    const all = prefix === '';
    return this.#withRetries(`reading ${pk} ${prefix}*`, async () => {
      const pages = paginateQuery(
        { client: this.#client },
        {
          TableName: this.#name,
          ConsistentRead: true,
          KeyConditionExpression: all ? '#pk = :pk' : '#pk = :pk AND begins_with(#sk, :prefix)',
          ExpressionAttributeNames: { '#pk': 'pk', ...(all ? {} : { '#sk': 'sk' }) },
          ExpressionAttributeValues: {
            ':pk': { S: pk },
            ...(all ? {} : { ':prefix': { S: prefix } }),
          },
        },
      );
      const items: Item[] = [];
      for await (const page of pages) items.push(...(page.Items ?? []).map(itemFromDynamo));
      return items;
    });
  }

  async transact(writes: Write[], token?: string): Promise<TransactOutcome> {
    checkWrites(writes, token);
    const input: TransactWriteItemsCommandInput = {
      TransactItems: writes.map((write) => transactItem(this.#name, write)),
      ClientRequestToken: token ?? randomUUID(),
    };
    return this.#withRetries('a transaction', async (): Promise<TransactOutcome> => {
      try {
        await this.#client.send(new TransactWriteItemsCommand(input));
        return { kind: 'committed' };
      } catch (error) {
        const failed = failedCondition(error);
        if (failed !== undefined) return failed;
        throw error;
      }
    });
  }

  async #withRetries<T>(doing: string, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof NodegapError) throw error;
        if (error instanceof IdempotentParameterMismatchException) {
          throw new NodegapError(
            'State.TokenMismatch',
            'the request token was used for other writes already',
            { cause: error },
          );
        }
        const most = isConflict(error) ? TRIES.conflict : TRIES.other;
        if (tries + 1 >= most || !passes(error)) {
          throw new NodegapError(
            'State.Unavailable',
            `${doing} of the state table ${this.#name} failed: ${messageOf(error)}`,
            { cause: error },
          );
        }
        await this.#pacing.sleep(backoffMs(tries, this.#pacing.random, BACKOFF));
      }
    }
  }
}

function reasonsOf(error: unknown): CancellationReason[] {
  return error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
}

/** The first failed condition, if it was conditions that failed. It counts before any conflict. */
function failedCondition(error: unknown): TransactOutcome | undefined {
  const reasons = reasonsOf(error);
  const index = reasons.findIndex(({ Code }) => Code === 'ConditionalCheckFailed');
  if (index < 0) return undefined;
  const item = reasons[index]?.Item;
  const isThere = item !== undefined && Object.keys(item).length > 0;
  return { kind: 'condition-failed', index, item: isThere ? itemFromDynamo(item) : undefined };
}

/** Others change the same items at this moment. */
function isConflict(error: unknown): boolean {
  return reasonsOf(error).some(({ Code }) => Code === 'TransactionConflict');
}

function passes(error: unknown): boolean {
  const reasons = reasonsOf(error).filter(({ Code }) => Code !== undefined && Code !== 'None');
  if (reasons.length > 0) return reasons.every(({ Code }) => PASSING_REASONS.has(Code ?? ''));
  if (!(error instanceof Error)) return false;
  return PASSING_ERRORS.has(error.name) || isServerFault(error);
}

function isServerFault(error: Error): boolean {
  return '$fault' in error && error.$fault === 'server';
}
