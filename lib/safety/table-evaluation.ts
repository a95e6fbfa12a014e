/** What a write of a transaction means, for the state tables that are no database themselves. */
import { NodegapError } from '../errors.ts';
import type { AttributeValue, Condition, Item, Write } from '../ports.ts';

/** Evaluates a condition as DynamoDB would: an absent attribute equals and compares to nothing. */
export function holds(condition: Condition, item: Item | undefined): boolean {
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

/**
 * The item as the write leaves it, undefined when it is not there afterwards.
 * @throws NodegapError `State.InvalidWrite` when an update does not fit its attribute.
 */
export function itemAfter(write: Write, before: Item | undefined): Item | undefined {
  switch (write.kind) {
    case 'put':
      return structuredClone(write.item);
    case 'update':
      return updated(before ?? { ...write.key }, write);
    case 'delete':
      return undefined;
    case 'check':
      return before;
  }
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

/** The order of sort keys, that of their bytes. */
export function bySortKey(a: Item, b: Item): number {
  return Buffer.compare(Buffer.from(a.sk), Buffer.from(b.sk));
}
