/** Items as JSON, with sets as `{"$set": [...]}`. */
import { NodegapError } from '../errors.ts';
import type { AttributeValue, Item } from '../ports.ts';

export function textFromItem(item: Item): string {
  return JSON.stringify(item, (_key, value: unknown) =>
    value instanceof Set ? { $set: [...value].sort() } : value,
  );
}

/**
 * The item in a text.
 * @throws NodegapError `State.Corrupt` when somebody wrote something else there; `where` names it.
 */
export function itemFromText(text: string, where: string): Item {
  let value: AttributeValue;
  try {
    value = JSON.parse(text, (_key, part: unknown) => {
      const members = typeof part === 'object' && part !== null && '$set' in part && part.$set;
      return Array.isArray(members) ? new Set(members.map(String)) : part;
    }) as AttributeValue;
  } catch (cause) {
    throw corrupt(where, cause);
  }
  if (!isItem(value)) throw corrupt(where);
  return value;
}

function isItem(value: AttributeValue): value is Item {
  if (value === null || typeof value !== 'object') return false;
  if (Array.isArray(value) || value instanceof Set) return false;
  return typeof value.pk === 'string' && typeof value.sk === 'string';
}

function corrupt(where: string, cause?: unknown): NodegapError {
  return new NodegapError('State.Corrupt', `${where} is no item of nodegap`, {
    hint: 'put it back as it was, or remove it with kubectl (docs/state-in-cluster.md)',
    ...(cause === undefined ? {} : { cause }),
  });
}
