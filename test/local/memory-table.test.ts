import { beforeEach, describe, expect, it } from 'vitest';
import type { Write } from '../../lib/ports.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { describeStateTable } from './table-contract.ts';

describeStateTable('MemoryTable', async () => new MemoryTable());

// DynamoDB compares values of different types to false; moto fails on it.
it('finds no text to be less than a number', async () => {
  const table = new MemoryTable();
  const key = { pk: 'p', sk: 's' };
  await table.transact([{ kind: 'put', item: { ...key, count: '3' } }]);
  const outcome = await table.transact([
    { kind: 'check', key, condition: { kind: 'less-than', attribute: 'count', value: 9 } },
  ]);
  expect(outcome.kind).toBe('condition-failed');
});

describe('MemoryTable with request tokens', () => {
  const key = { pk: 'p', sk: 's' };
  const count: Write = {
    kind: 'update',
    key,
    increment: { n: 1 },
    addToSet: { members: ['b', 'a'] },
  };
  let table: MemoryTable;
  beforeEach(() => {
    table = new MemoryTable();
  });

  it('carries out the same request once', async () => {
    await table.transact([count], 'token');
    await expect(table.transact([count], 'token')).resolves.toEqual({ kind: 'committed' });
    await expect(table.get(key)).resolves.toMatchObject({ n: 1 });
  });

  it('refuses a used token with other writes', async () => {
    await table.transact([count], 'token');
    await expect(table.transact([{ kind: 'delete', key }], 'token')).rejects.toMatchObject({
      code: 'State.TokenMismatch',
    });
    await expect(table.get(key)).resolves.toMatchObject({ n: 1 });
  });

  it('does not use up the token of a request whose condition failed', async () => {
    const conditional: Write = { ...count, condition: { kind: 'present' } };
    expect((await table.transact([conditional], 'token')).kind).toBe('condition-failed');
    await table.transact([{ kind: 'put', item: { ...key } }]);
    expect((await table.transact([conditional], 'token')).kind).toBe('committed');
    await expect(table.get(key)).resolves.toMatchObject({ n: 1 });
  });

  it('applies nothing when one of the updates does not fit its attribute', async () => {
    await table.transact([{ kind: 'put', item: { ...key, n: 'text' } }]);
    const other = { pk: 'p', sk: 'other' };
    await expect(
      table.transact([
        { kind: 'put', item: other },
        { kind: 'update', key, increment: { n: 1 } },
      ]),
    ).rejects.toMatchObject({ code: 'State.InvalidWrite' });
    await expect(table.get(other)).resolves.toBeUndefined();
  });
});
