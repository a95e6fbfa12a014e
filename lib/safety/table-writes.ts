/** What every state table demands of a transaction, so that all adapters refuse the same ones. */
import { createHash } from 'node:crypto';
import { NodegapError } from '../errors.ts';
import type { AttributeValue, ItemKey, Write } from '../ports.ts';

/** The limit of DynamoDB's TransactWriteItems. */
export const MAX_TRANSACTION_WRITES = 100;
/** The limit of DynamoDB's ClientRequestToken. */
const MAX_TOKEN_LENGTH = 36;

/** The key of the item that a write is about. */
export function keyOfWrite(write: Write): ItemKey {
  return write.kind === 'put' ? { pk: write.item.pk, sk: write.item.sk } : write.key;
}

/**
 * Throws `State.InvalidWrite` for a transaction that DynamoDB would refuse: too many writes, two
 * of them on one item, an attribute in two clauses, an empty set or key, a number that is none.
 */
export function checkWrites(writes: Write[], token?: string): void {
  if (writes.length === 0 || writes.length > MAX_TRANSACTION_WRITES) {
    throw invalid(`a transaction has 1 to ${MAX_TRANSACTION_WRITES} writes, not ${writes.length}`);
  }
  if (token !== undefined && (token.length === 0 || token.length > MAX_TOKEN_LENGTH)) {
    throw invalid(`a request token has 1 to ${MAX_TOKEN_LENGTH} characters, not ${token.length}`);
  }
  const seen = new Set<string>();
  for (const write of writes) {
    const { pk, sk } = keyOfWrite(write);
    if (pk === '' || sk === '') throw invalid('an item key has an empty part');
    const id = JSON.stringify([pk, sk]);
    if (seen.has(id)) throw invalid(`two writes of one transaction are about item ${pk} ${sk}`);
    seen.add(id);
    if (write.kind === 'put') checkValue(write.item, `${pk} ${sk}`);
    if (write.kind === 'update') checkUpdate(write);
  }
}

function checkUpdate(write: Extract<Write, { kind: 'update' }>): void {
  const where = `${write.key.pk} ${write.key.sk}`;
  const touched = [
    ...Object.keys(write.set ?? {}),
    ...(write.remove ?? []),
    ...Object.keys(write.increment ?? {}),
    ...Object.keys(write.addToSet ?? {}),
    ...Object.keys(write.removeFromSet ?? {}),
  ];
  if (touched.length === 0) throw invalid(`the update of ${where} changes nothing`);
  if (new Set(touched).size !== touched.length) {
    throw invalid(`the update of ${where} names an attribute twice`);
  }
  if (touched.includes('pk') || touched.includes('sk')) {
    throw invalid(`the update of ${where} changes the key`);
  }
  checkValue(write.set ?? {}, where);
  checkValue(write.increment ?? {}, where);
  for (const members of Object.values({ ...write.addToSet, ...write.removeFromSet })) {
    if (members.length === 0) throw invalid(`the update of ${where} has an empty set`);
  }
}

function checkValue(value: AttributeValue | undefined, where: string): void {
  if (value === undefined) throw invalid(`a value of ${where} is undefined`);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw invalid(`a number of ${where} is ${value}`);
  }
  if (value instanceof Set) {
    if (value.size === 0) throw invalid(`a set of ${where} is empty`);
  } else if (value !== null && typeof value === 'object') {
    for (const part of Object.values(value)) checkValue(part, where);
  }
}

function invalid(message: string): NodegapError {
  return new NodegapError('State.InvalidWrite', message);
}

/** A text that is equal for equal writes, whatever the order of their keys and set members. */
export function fingerprint(writes: Write[]): string {
  return JSON.stringify(writes, (_key, value: unknown) => {
    if (value instanceof Set) return { set: [...value].sort() };
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/**
 * The request token of a transaction that an execution makes: fixed by the execution and what it
 * writes. A repeat of the same request is carried out once; another request gets another token,
 * so the table never has to refuse one for carrying a used token.
 */
export function requestToken(execution: string, writes: Write[]): string {
  return createHash('sha256')
    .update(`${execution}\n${fingerprint(writes)}`)
    .digest('hex')
    .slice(0, MAX_TOKEN_LENGTH);
}
