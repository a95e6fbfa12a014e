/**
 * Makes a client of DynamoDB meet everything that may happen between it and the service, below the
 * retries of the SDK: throttling, server errors, cancelled transactions that conflict, requests
 * that are carried out twice, and answers that get lost after they were.
 *
 * Gotchas: moto does not isolate transactions (see oneRequestAtATime) and forgets request tokens.
 * So requests go one at a time, and the tokens of committed transactions are remembered here as
 * DynamoDB does it: the same token again is answered as committed, and not carried out.
 */
import {
  type CancellationReason,
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';

/** Shares of all requests, or of all transactions, that meet each fate. */
export interface Luck {
  throttled: number;
  conflict: number;
  lostAnswer: number;
  twice: number;
}

export interface Met {
  throttled: number;
  conflict: number;
  lostAnswer: number;
  twice: number;
  /** Transactions that a token kept from being carried out again. */
  repeated: number;
  transactions: number;
}

export function makeUnlucky(
  client: DynamoDBClient,
  options: {
    random: () => number;
    luck: Luck;
    /** Called after each transaction that was carried out, before anything else happens. */
    afterCommit: () => Promise<void>;
  },
): Met {
  const { random, luck } = options;
  const met: Met = {
    throttled: 0,
    conflict: 0,
    lostAnswer: 0,
    twice: 0,
    repeated: 0,
    transactions: 0,
  };
  const committed = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  client.middlewareStack.add(
    (next, context) => (args) => {
      const carryOut = async (): Promise<Awaited<ReturnType<typeof next>>> => {
        if (happens('throttled')) throw throttling();
        if (context.commandName !== 'TransactWriteItemsCommand') return next(args);
        met.transactions += 1;
        const { ClientRequestToken: token = '', TransactItems: items = [] } =
          args.input as TransactWriteItemsCommandInput;
        if (happens('conflict')) throw conflicting(items.length);
        const once = async () => {
          if (committed.has(token)) {
            met.repeated += 1;
            return answerOfCommitted();
          }
          const answer = await next(args);
          committed.add(token);
          answers.set(token, answer);
          await options.afterCommit();
          return answer;
        };
        const answerOfCommitted = () => {
          const answer = answers.get(token);
          if (answer === undefined) throw new Error('a committed transaction has an answer');
          return answer as Awaited<ReturnType<typeof next>>;
        };
        const answer = await once();
        if (happens('twice')) await once();
        if (happens('lostAnswer')) throw lost();
        return answer;
      };
      const answer = last.then(carryOut);
      last = answer.catch(() => undefined);
      return answer;
    },
    { step: 'deserialize', priority: 'high', name: 'unlucky' },
  );
  return met;

  function happens(fate: keyof Luck): boolean {
    if (random() >= luck[fate]) return false;
    met[fate] += 1;
    return true;
  }

  function throttling(): Error {
    return new ProvisionedThroughputExceededException({ message: 'too fast', $metadata: {} });
  }

  /** Any of the items may be the one that somebody else changes. */
  function conflicting(items: number): Error {
    const at = Math.floor(random() * items);
    const CancellationReasons: CancellationReason[] = Array.from({ length: items }, (_, n) =>
      n === at ? { Code: 'TransactionConflict', Message: 'in conflict' } : { Code: 'None' },
    );
    const message = 'Transaction cancelled, please refer cancellation reasons';
    return new TransactionCanceledException({ message, CancellationReasons, $metadata: {} });
  }

  function lost(): Error {
    if (random() < 0.5) return new InternalServerError({ message: 'sorry', $metadata: {} });
    return Object.assign(new Error('socket hang up'), { name: 'TimeoutError' });
  }
}

const answers = new Map<string, unknown>();
