import { NodegapError } from '../lib/errors.ts';
import type {
  AttributeValue,
  Condition,
  Item,
  ItemKey,
  StateTable,
  TransactOutcome,
  Write,
} from '../lib/ports.ts';
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
      .sort((a, b) => Buffer.compare(Buffer.from(a.sk), Buffer.from(b.sk)))
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
    const after = writes.map((write) => ({ write, item: this.#after(write) }));
    for (const { write, item } of after) {
      if (item !== undefined) this.#items.set(idOf(item), item);
      else if (write.kind === 'delete') this.#items.delete(idOf(write.key));
    }
    if (token !== undefined) this.#tokens.set(token, print);
    return { kind: 'committed' };
  }

  /** The item as a put or an update leaves it. */
  #after(write: Write): Item | undefined {
    if (write.kind === 'put') return structuredClone(write.item);
    if (write.kind === 'update') {
      return updated(this.#items.get(idOf(write.key)) ?? { ...write.key }, write);
    }
    return undefined;
  }
}

function idOf({ pk, sk }: ItemKey): string {
  return JSON.stringify([pk, sk]);
}

function updated(item: Item, write: Extract<Write, { kind: 'update' }>): Item {
  const next: Item = { ...structuredClone(item), ...structuredClone(write.set ?? {}) };
  for (const name of write.remove ?? []) delete next[name];
  for (const [name, by] of Object.entries(write.increment ?? {})) {
    const value = next[name] ?? 0;
    if (typeof value !== 'number') throw wrongType(name, 'number');
    next[name] = value + by;
  }
  for (const [name, members] of Object.entries(write.addToSet ?? {})) {
    next[name] = new Set([...setOf(next[name], name), ...members]);
  }
  for (const [name, members] of Object.entries(write.removeFromSet ?? {})) {
    const left = new Set([...setOf(next[name], name)].filter((one) => !members.includes(one)));
    if (left.size === 0) delete next[name];
    else next[name] = left;
  }
  return next;
}

function setOf(value: AttributeValue | undefined, name: string): Set<string> {
  if (value === undefined) return new Set();
  if (!(value instanceof Set)) throw wrongType(name, 'set');
  return value;
}

function wrongType(name: string, wanted: string): NodegapError {
  return new NodegapError('State.InvalidWrite', `attribute ${name} is not a ${wanted}`);
}

/** Evaluates a condition as DynamoDB would: an absent attribute equals and compares to nothing. */
function holds(condition: Condition, item: Item | undefined): boolean {
  switch (condition.kind) {
    case 'absent':
      return item === undefined;
    case 'present':
      return item !== undefined;
    case 'attribute-absent':
      return item?.[condition.attribute] === undefined;
    case 'equals':
      return item?.[condition.attribute] === condition.value;
    case 'less-than': {
      const value = item?.[condition.attribute];
      return typeof value === 'number' && value < condition.value;
    }
    case 'set-contains': {
      const value = item?.[condition.attribute];
      return value instanceof Set && value.has(condition.member);
    }
    case 'set-smaller-than': {
      const value = item?.[condition.attribute];
      if (value === undefined) return condition.limit > 0;
      return value instanceof Set && value.size < condition.limit;
    }
    case 'any':
      return condition.of.some((part) => holds(part, item));
    case 'all':
      return condition.of.every((part) => holds(part, item));
  }
}
