/** Typed reads of what the state table holds. An item of another shape is an error, never a guess. */
import { NodegapError } from '../errors.ts';
import type { AttributeValue, Item } from '../ports.ts';

export function textOf(item: Item, name: string): string {
  return optionalText(item, name) ?? missing(item, name, 'text');
}

export function optionalText(item: Item, name: string): string | undefined {
  const value = item[name];
  if (value === undefined || typeof value === 'string') return value;
  return missing(item, name, 'text');
}

export function numberOf(item: Item, name: string): number {
  return optionalNumber(item, name) ?? missing(item, name, 'number');
}

export function optionalNumber(item: Item, name: string): number | undefined {
  const value = item[name];
  if (value === undefined || typeof value === 'number') return value;
  return missing(item, name, 'number');
}

/** A set that is not there has no members: DynamoDB keeps no empty sets. */
export function setOf(item: Item | undefined, name: string): Set<string> {
  const value = item?.[name];
  if (item === undefined || value === undefined) return new Set();
  return value instanceof Set ? value : missing(item, name, 'set of texts');
}

export function textsOf(item: Item, name: string): string[] {
  const value = item[name];
  if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value;
  return missing(item, name, 'list of texts');
}

/** The value when it is one of `allowed`. */
export function oneOf<T extends string>(item: Item, name: string, allowed: readonly T[]): T {
  const value = item[name];
  return allowed.find((known) => known === value) ?? missing(item, name, allowed.join(' or '));
}

/** Leaves out what is undefined, which the table cannot hold. */
export function stored(fields: Record<string, AttributeValue | undefined>): {
  [name: string]: AttributeValue;
} {
  const kept: { [name: string]: AttributeValue } = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function missing(item: Item, name: string, wanted: string): never {
  throw new NodegapError(
    'State.Corrupt',
    `item ${item.pk} ${item.sk} of the state table: attribute ${name} is not a ${wanted}`,
  );
}
