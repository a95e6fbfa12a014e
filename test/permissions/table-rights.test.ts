import { expect, it } from 'vitest';
import { MemoryTable } from '../../local/memory-table.ts';
import { checkedTable, withRightsOf } from './table-rights.ts';

const key = { pk: 'p', sk: 's' };

it('refuses a function what its role does not grant', async () => {
  const table = checkedTable(new MemoryTable());
  const put = withRightsOf('check-recovery', async () =>
    table.transact([{ kind: 'put', item: key }]),
  );
  await expect(put(undefined)).rejects.toThrow(/^check-recovery has no right to dynamodb:PutItem/);
  const query = withRightsOf('release-node', async () => table.query('p', ''));
  await expect(query(undefined)).rejects.toThrow(/^release-node has no right to dynamodb:Query/);
});

it('lets a function do what its role grants, and a test whatever it wants', async () => {
  const table = checkedTable(new MemoryTable());
  await table.transact([{ kind: 'put', item: key }]);
  const get = withRightsOf('check-recovery', async () => table.get(key));
  expect(await get(undefined)).toEqual(key);
});
