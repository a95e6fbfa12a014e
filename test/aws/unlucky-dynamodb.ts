/**
 * Makes a client of DynamoDB meet everything that may happen between it and the service, below the
 * retries of the SDK: throttling, server errors, transactions that are cancelled because they
 * conflict, requests that are sent twice, and answers that get lost after the work was done.
 *
 * Gotchas: moto does not isolate transactions (see oneRequestAtATime), and it forgets request
 * tokens. So requests go one at a time, and the tokens of committed transactions are remembered
 * here, as DynamoDB does: the same token again is answered as committed and not carried out.
 * Since few transactions are carried out at all, the answer of the first is always lost.
 */
import {
  type CancellationReason,
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';

/** `throttled` of all requests, the others of all transactions: shares, or how many met it. */
export interface Luck {
  throttled: number;
  conflict: number;
  lostAnswer: number;
  twice: number;
}

export interface Met extends Luck {
  /** Transactions that were sent. */
  sent: number;
  /** Those of them that a token kept from being carried out again. */
  repeated: number;
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
  const { random, luck, afterCommit } = options;
  const met: Met = { throttled: 0, conflict: 0, lostAnswer: 0, twice: 0, sent: 0, repeated: 0 };
  const happens = (fate: keyof Luck): boolean => {
    if (random() >= luck[fate]) return false;
    met[fate] += 1;
    return true;
  };
  const answered = new Map<string, unknown>();
  let isFirst = true;
  let last: Promise<unknown> = Promise.resolve();

  client.middlewareStack.add(
    (next, context) => (args) => {
      type Answer = Awaited<ReturnType<typeof next>>;
      const sendOnce = async (token: string): Promise<Answer> => {
        met.sent += 1;
        if (answered.has(token)) {
          met.repeated += 1;
          return answered.get(token) as Answer;
        }
        const answer = await next(args);
        answered.set(token, answer);
        await afterCommit();
        return answer;
      };
      const send = async (): Promise<Answer> => {
        if (happens('throttled')) throw throttling();
        if (context.commandName !== 'TransactWriteItemsCommand') return next(args);
        const input = args.input as TransactWriteItemsCommandInput;
        if (happens('conflict')) throw conflicting(input.TransactItems?.length ?? 0, random);
        const token = input.ClientRequestToken ?? '';
        const sending = () => sendOnce(token);
        const answer = happens('twice') ? sending().then(sending, sending) : sending();
        // Whether it was carried out or its conditions failed: nobody learns of it.
        const settled = await answer.then(
          (value) => () => value,
          (error: unknown) => () => {
            throw error;
          },
        );
        if (answered.size > 0 && isFirst) {
          isFirst = false;
          met.lostAnswer += 1;
          throw serverFault();
        }
        if (happens('lostAnswer')) throw random() < 0.5 ? serverFault() : timeout();
        return settled();
      };
      const answer = last.then(send);
      last = answer.catch(() => undefined);
      return answer;
    },
    { step: 'finalizeRequest', priority: 'low', name: 'unlucky' },
  );
  return met;
}

function throttling(): Error {
  return new ProvisionedThroughputExceededException({ message: 'too fast', $metadata: {} });
}

/** Any of the items may be the one that somebody else changes. */
function conflicting(items: number, random: () => number): Error {
  const at = Math.floor(random() * items);
  const CancellationReasons: CancellationReason[] = Array.from({ length: items }, (_, n) =>
    n === at ? { Code: 'TransactionConflict', Message: 'in conflict' } : { Code: 'None' },
  );
  return new TransactionCanceledException({
    message: 'Transaction cancelled, please refer cancellation reasons for specific reasons',
    CancellationReasons,
    $metadata: {},
  });
}

function serverFault(): Error {
  return new InternalServerError({ message: 'sorry', $metadata: {} });
}

function timeout(): Error {
  return Object.assign(new Error('the socket hung up'), { name: 'TimeoutError' });
}
