import { NodegapError } from '../lib/errors.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../lib/ports.ts';
import { bySortKey, holds, itemAfter } from '../lib/safety/table-evaluation.ts';
import { checkWrites, fingerprint, keyOfWrite } from '../lib/safety/table-writes.ts';

/**
 * The state table in memory, for demo and tests only: what it holds dies with the process. It
 * keeps DynamoDB's rules (byte order of sort keys, sets that vanish when empty, request tokens).
 */
export class MemoryTable implements StateTable {
  readonly #items = new Map<string, Item>();
  readonly #tokens = new Map<string, string>();

  async get(key: ItemKey): Promise<Item | undefined> {
    const item = this.#items.get(idOf(key));
    return item === undefined ? undefined : structuredClone(item);
  }

  async query(pk: string, prefix: string): Promise<Item[]> {
    return [...this.#items.values()]
      .filter((item) => item.pk === pk && item.sk.startsWith(prefix))
      .sort(bySortKey)
      .map((item) => structuredClone(item));
  }

  async transact(writes: Write[], token?: string): Promise<TransactOutcome> {
    checkWrites(writes, token);
    const print = fingerprint(writes);
    if (token !== undefined) {
      const earlier = this.#tokens.get(token);
      if (earlier === print) return { kind: 'committed' };
      if (earlier !== undefined) {
        throw new NodegapError(
          'State.TokenMismatch',
          'the request token was used for other writes already',
        );
      }
    }
    // No await from here on: checking and applying is one step for everyone else.
    for (const [index, write] of writes.entries()) {
      const item = this.#items.get(idOf(keyOfWrite(write)));
      if (write.condition !== undefined && !holds(write.condition, item)) {
        return { kind: 'condition-failed', index, item: structuredClone(item) };
      }
    }
    const after = writes.map((write) => {
      return { write, item: itemAfter(write, this.#items.get(idOf(keyOfWrite(write)))) };
    });
    for (const { write, item } of after) {
      if (write.kind === 'check') continue;
      if (item === undefined) this.#items.delete(idOf(keyOfWrite(write)));
      else this.#items.set(idOf(item), item);
    }
    if (token !== undefined) this.#tokens.set(token, print);
    return { kind: 'committed' };
  }
}

function idOf({ pk, sk }: ItemKey): string {
  return JSON.stringify([pk, sk]);
}
