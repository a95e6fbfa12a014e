/** Between the domain's values and DynamoDB's typed JSON. Only the types that the port knows. */
import type { AttributeValue as DynamoValue } from '@aws-sdk/client-dynamodb';
import { NodegapError } from '../errors.ts';
import type { AttributeValue, Item } from '../ports.ts';

export function toDynamo(value: AttributeValue): DynamoValue {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value instanceof Set) return { SS: [...value] };
  if (Array.isArray(value)) return { L: value.map(toDynamo) };
  return { M: toDynamoFields(value) };
}

export function toDynamoFields(
  fields: Readonly<Record<string, AttributeValue>>,
): Record<string, DynamoValue> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toDynamo(value)]));
}

export function fromDynamo(value: DynamoValue): AttributeValue {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  if (value.SS !== undefined) return new Set(value.SS);
  if (value.L !== undefined) return value.L.map(fromDynamo);
  if (value.M !== undefined) return fromDynamoFields(value.M);
  throw new NodegapError(
    'State.Corrupt',
    `the state table holds a value of type ${Object.keys(value).join()}, which nodegap never writes`,
  );
}

function fromDynamoFields(fields: Record<string, DynamoValue>): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, fromDynamo(value)]),
  );
}

export function itemFromDynamo(fields: Record<string, DynamoValue>): Item {
  const { pk, sk, ...rest } = fromDynamoFields(fields);
  if (typeof pk !== 'string' || typeof sk !== 'string') {
    throw new NodegapError('State.Corrupt', 'an item of the state table has no pk and sk');
  }
  return { ...rest, pk, sk };
}
