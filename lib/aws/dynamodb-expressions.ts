/** The domain's writes and conditions as DynamoDB's expressions. */
import type { AttributeValue as DynamoValue, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { AttributeValue, Condition, Write } from '../ports.ts';
import { toDynamo, toDynamoFields } from './dynamodb-values.ts';

/** Collects the placeholders of one request's expressions: no name or value is ever spliced in. */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, DynamoValue> = {};
  readonly #known = new Map<string, string>();

  name(attribute: string): string {
    const known = this.#known.get(attribute);
    if (known !== undefined) return known;
    const placeholder = `#n${this.#known.size}`;
    this.#known.set(attribute, placeholder);
    this.names[placeholder] = attribute;
    return placeholder;
  }

  value(value: AttributeValue): string {
    const placeholder = `:v${Object.keys(this.values).length}`;
    this.values[placeholder] = toDynamo(value);
    return placeholder;
  }

  /** DynamoDB refuses empty maps of either. */
  fields(): {
    ExpressionAttributeNames?: Record<string, string>;
    ExpressionAttributeValues?: Record<string, DynamoValue>;
  } {
    return {
      ...(Object.keys(this.names).length === 0 ? {} : { ExpressionAttributeNames: this.names }),
      ...(Object.keys(this.values).length === 0 ? {} : { ExpressionAttributeValues: this.values }),
    };
  }
}

/** One write of a transaction. A failed condition returns the item as it stood. */
export function transactItem(tableName: string, write: Write): TransactWriteItem {
  const placeholders = new Placeholders();
  const common = {
    TableName: tableName,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
  const condition =
    write.condition === undefined
      ? {}
      : { ConditionExpression: expressionOf(write.condition, placeholders) };
  switch (write.kind) {
    case 'put':
      return {
        Put: {
          ...common,
          ...condition,
          Item: toDynamoFields(write.item),
          ...placeholders.fields(),
        },
      };
    case 'delete':
      return {
        Delete: { ...common, ...condition, Key: keyOf(write.key), ...placeholders.fields() },
      };
    case 'check':
      return {
        ConditionCheck: {
          ...common,
          ConditionExpression: expressionOf(write.condition, placeholders),
          Key: keyOf(write.key),
          ...placeholders.fields(),
        },
      };
    case 'update': {
      const UpdateExpression = updateOf(write, placeholders);
      return {
        Update: {
          ...common,
          ...condition,
          Key: keyOf(write.key),
          UpdateExpression,
          ...placeholders.fields(),
        },
      };
    }
  }
}

export function keyOf(key: { pk: string; sk: string }): Record<string, DynamoValue> {
  return { pk: { S: key.pk }, sk: { S: key.sk } };
}

function updateOf(write: Extract<Write, { kind: 'update' }>, placeholders: Placeholders): string {
  const set = Object.entries(write.set ?? {}).map(
    ([name, value]) => `${placeholders.name(name)} = ${placeholders.value(value)}`,
  );
  const remove = (write.remove ?? []).map((name) => placeholders.name(name));
  const add = [
    ...Object.entries(write.increment ?? {}),
    ...Object.entries(write.addToSet ?? {}).map(
      ([name, members]) => [name, new Set(members)] as const,
    ),
  ].map(([name, value]) => `${placeholders.name(name)} ${placeholders.value(value)}`);
  const drop = Object.entries(write.removeFromSet ?? {}).map(
    ([name, members]) => `${placeholders.name(name)} ${placeholders.value(new Set(members))}`,
  );
  return [
    ['SET', set],
    ['REMOVE', remove],
    ['ADD', add],
    ['DELETE', drop],
  ]
    .flatMap(([word, parts]) =>
      Array.isArray(parts) && parts.length > 0 ? [`${word} ${parts.join(', ')}`] : [],
    )
    .join(' ');
}

/** A key attribute is there exactly when the item is. */
function expressionOf(condition: Condition, placeholders: Placeholders): string {
  const name = (attribute: string) => placeholders.name(attribute);
  switch (condition.kind) {
    case 'absent':
      return `attribute_not_exists(${name('pk')})`;
    case 'present':
      return `attribute_exists(${name('pk')})`;
    case 'attribute-absent':
      return `attribute_not_exists(${name(condition.attribute)})`;
    case 'equals':
      return `${name(condition.attribute)} = ${placeholders.value(condition.value)}`;
    case 'less-than':
      return `${name(condition.attribute)} < ${placeholders.value(condition.value)}`;
    case 'set-contains':
      return `contains(${name(condition.attribute)}, ${placeholders.value(condition.member)})`;
    case 'set-smaller-than': {
      const attribute = name(condition.attribute);
      const smaller = `size(${attribute}) < ${placeholders.value(condition.limit)}`;
      return condition.limit > 0
        ? `(attribute_not_exists(${attribute}) OR ${smaller})`
        : `(attribute_exists(${attribute}) AND ${smaller})`;
    }
    case 'any':
      return joined(condition.of, 'OR', placeholders);
    case 'all':
      return joined(condition.of, 'AND', placeholders);
  }
}

function joined(parts: Condition[], word: 'OR' | 'AND', placeholders: Placeholders): string {
  if (parts.length > 0) {
    return `(${parts.map((part) => expressionOf(part, placeholders)).join(` ${word} `)})`;
  }
  // No part: `any` of nothing is false, `all` of nothing is true.
  const pk = placeholders.name('pk');
  return `(attribute_exists(${pk}) ${word === 'OR' ? 'AND' : 'OR'} attribute_not_exists(${pk}))`;
}
