import { beforeEach, describe, expect, it } from 'vitest';
import type { Condition, Item, StateTable, Write } from '../../lib/ports.ts';

/** What every state table does. Run against each adapter. */
export function describeStateTable(name: string, makeTable: () => Promise<StateTable>): void {
  describe(name, () => {
    let table: StateTable;
    beforeEach(async () => {
      table = await makeTable();
    });
    const key = { pk: 'cluster#a', sk: 'slot#1' };
    const put = (item: Item, condition?: Condition): Write => ({
      kind: 'put',
      item,
      ...(condition === undefined ? {} : { condition }),
    });
    const check = (condition: Condition) => table.transact([{ kind: 'check', key, condition }]);

    it('gives back what was put, with every type of value', async () => {
      const item = {
        ...key,
        text: 'é',
        number: 1_764_500_000_123,
        fraction: -0.25,
        yes: true,
        no: false,
        nothing: null,
        set: new Set(['b', 'a']),
        list: [1, 'two', { three: 3 }],
        map: { deep: { deeper: ['x'] }, empty: {} },
      };
      await expect(table.transact([put(item)])).resolves.toEqual({ kind: 'committed' });
      await expect(table.get(key)).resolves.toEqual(item);
    });

    it('answers undefined for an item that is not there', async () => {
      await expect(table.get(key)).resolves.toBeUndefined();
    });

    it('gives out copies, not what it holds', async () => {
      await table.transact([put({ ...key, list: ['a'] })]);
      const copy = await table.get(key);
      if (Array.isArray(copy?.list)) copy.list.push('b');
      await expect(table.get(key)).resolves.toEqual({ ...key, list: ['a'] });
    });

    it('queries one partition by prefix, in byte order of the sort key', async () => {
      const sorted = ['slot#A', 'slot#Z', 'slot#a', 'slot#é', 'slot#\uFF5E', 'slot#\u{1F600}'];
      const others = [
        { pk: 'cluster#a', sk: 'slo' },
        { pk: 'cluster#a', sk: 'episode#1' },
        { pk: 'cluster#b', sk: 'slot#1' },
      ];
      const items = [...sorted.toReversed().map((sk) => ({ pk: 'cluster#a', sk })), ...others];
      await table.transact(items.map((item) => put(item)));
      const found = await table.query('cluster#a', 'slot#');
      expect(found.map(({ sk }) => sk)).toEqual(sorted);
      await expect(table.query('cluster#a', '')).resolves.toHaveLength(8);
      await expect(table.query('cluster#c', '')).resolves.toEqual([]);
    });

    it('queries more than one page', async () => {
      const filler = 'x'.repeat(30_000);
      const keys = Array.from(
        { length: 60 },
        (_, index) => `page#${String(index).padStart(3, '0')}`,
      );
      for (const sk of keys) await table.transact([put({ pk: 'big', sk, filler })]);
      const found = await table.query('big', 'page#');
      expect(found.map(({ sk }) => sk)).toEqual(keys);
    });

    it('replaces an item as a whole with a put', async () => {
      await table.transact([put({ ...key, a: 1, b: 2 })]);
      await table.transact([put({ ...key, a: 3 })]);
      await expect(table.get(key)).resolves.toEqual({ ...key, a: 3 });
    });

    it('updates with set, remove, increment and sets, and creates what is not there', async () => {
      const first: Write = {
        kind: 'update',
        key,
        set: { state: 'open', gone: 1 },
        increment: { version: 1 },
        addToSet: { inWork: ['a', 'b'], only: ['z'] },
      };
      await table.transact([first]);
      const created = { state: 'open', gone: 1, version: 1 };
      await expect(table.get(key)).resolves.toEqual({
        ...key,
        ...created,
        inWork: new Set(['a', 'b']),
        only: new Set(['z']),
      });
      await table.transact([
        {
          kind: 'update',
          key,
          set: { state: 'closed' },
          remove: ['gone', 'never-was'],
          increment: { version: 2 },
          addToSet: { inWork: ['b', 'c'] },
          removeFromSet: { only: ['z', 'y'], absent: ['q'] },
        },
      ]);
      await expect(table.get(key)).resolves.toEqual({
        ...key,
        state: 'closed',
        version: 3,
        inWork: new Set(['a', 'b', 'c']),
      });
    });

    it('deletes an item, also one that is not there', async () => {
      await table.transact([put({ ...key })]);
      const remove: Write = { kind: 'delete', key };
      await expect(table.transact([remove])).resolves.toEqual({ kind: 'committed' });
      await expect(table.transact([remove])).resolves.toEqual({ kind: 'committed' });
      await expect(table.get(key)).resolves.toBeUndefined();
    });

    it('carries out all writes or none, and names the first failed condition with its item', async () => {
      const other = { pk: 'cluster#a', sk: 'places#cluster' };
      await table.transact([put({ ...other, version: 7, inWork: new Set(['n']) })]);
      const outcome = await table.transact([
        put({ ...key, fence: 1 }, { kind: 'absent' }),
        {
          kind: 'update',
          key: other,
          increment: { version: 1 },
          condition: { kind: 'equals', attribute: 'version', value: 6 },
        },
      ]);
      expect(outcome).toEqual({
        kind: 'condition-failed',
        index: 1,
        item: { ...other, version: 7, inWork: new Set(['n']) },
      });
      await expect(table.get(key)).resolves.toBeUndefined();
    });

    it('reports a failed condition on an item that is not there without an item', async () => {
      await expect(
        table.transact([{ kind: 'delete', key, condition: { kind: 'present' } }]),
      ).resolves.toEqual({ kind: 'condition-failed', index: 0, item: undefined });
    });

    const item: Item = {
      ...key,
      owner: 'me',
      count: 3,
      flag: true,
      members: new Set(['a', 'b']),
    };
    const conditions: [string, Condition, boolean, boolean][] = [
      // what, condition, on the item, on no item
      ['absent', { kind: 'absent' }, false, true],
      ['present', { kind: 'present' }, true, false],
      ['attribute there', { kind: 'attribute-absent', attribute: 'owner' }, false, true],
      ['attribute absent', { kind: 'attribute-absent', attribute: 'other' }, true, true],
      ['equal text', { kind: 'equals', attribute: 'owner', value: 'me' }, true, false],
      ['other text', { kind: 'equals', attribute: 'owner', value: 'you' }, false, false],
      ['equal number', { kind: 'equals', attribute: 'count', value: 3 }, true, false],
      ['number as text', { kind: 'equals', attribute: 'count', value: '3' }, false, false],
      ['equal boolean', { kind: 'equals', attribute: 'flag', value: true }, true, false],
      ['less', { kind: 'less-than', attribute: 'count', value: 4 }, true, false],
      ['not less', { kind: 'less-than', attribute: 'count', value: 3 }, false, false],
      ['less on absent', { kind: 'less-than', attribute: 'other', value: 9 }, false, false],
      ['member', { kind: 'set-contains', attribute: 'members', member: 'a' }, true, false],
      ['no member', { kind: 'set-contains', attribute: 'members', member: 'c' }, false, false],
      ['no set', { kind: 'set-contains', attribute: 'other', member: 'a' }, false, false],
      ['smaller', { kind: 'set-smaller-than', attribute: 'members', limit: 3 }, true, true],
      ['not smaller', { kind: 'set-smaller-than', attribute: 'members', limit: 2 }, false, true],
      ['absent set, 1', { kind: 'set-smaller-than', attribute: 'other', limit: 1 }, true, true],
      ['absent set, 0', { kind: 'set-smaller-than', attribute: 'other', limit: 0 }, false, false],
      ['set, 0', { kind: 'set-smaller-than', attribute: 'members', limit: 0 }, false, false],
      ['any of nothing', { kind: 'any', of: [] }, false, false],
      ['all of nothing', { kind: 'all', of: [] }, true, true],
      [
        'any',
        { kind: 'any', of: [{ kind: 'absent' }, { kind: 'equals', attribute: 'count', value: 3 }] },
        true,
        true,
      ],
      [
        'all',
        {
          kind: 'all',
          of: [{ kind: 'present' }, { kind: 'equals', attribute: 'count', value: 4 }],
        },
        false,
        false,
      ],
      [
        'any within all',
        {
          kind: 'all',
          of: [
            { kind: 'equals', attribute: 'owner', value: 'me' },
            {
              kind: 'any',
              of: [
                { kind: 'less-than', attribute: 'count', value: 1 },
                { kind: 'set-contains', attribute: 'members', member: 'b' },
              ],
            },
          ],
        },
        true,
        false,
      ],
    ];
    it.each(conditions)('evaluates the condition: %s', async (_what, condition, onItem, onNone) => {
      expect((await check(condition)).kind).toBe(onNone ? 'committed' : 'condition-failed');
      await table.transact([put(item)]);
      expect((await check(condition)).kind).toBe(onItem ? 'committed' : 'condition-failed');
    });

    it('refuses what DynamoDB would refuse', async () => {
      const invalid: [string, Write[]][] = [
        ['no write', []],
        ['101 writes', Array.from({ length: 101 }, (_, n) => put({ pk: 'p', sk: String(n) }))],
        ['two writes of one item', [put({ ...key }), { kind: 'delete', key }]],
        ['an empty key', [put({ pk: 'p', sk: '' })]],
        ['an empty set', [put({ ...key, members: new Set() })]],
        ['not a number', [put({ ...key, count: Number.NaN })]],
        ['a deep infinity', [put({ ...key, list: [{ a: Number.POSITIVE_INFINITY }] })]],
        ['an empty update', [{ kind: 'update', key }]],
        ['an update of the key', [{ kind: 'update', key, set: { sk: 'x' } }]],
        ['an attribute twice', [{ kind: 'update', key, set: { a: 1 }, remove: ['a'] }]],
        ['an empty addition', [{ kind: 'update', key, addToSet: { a: [] } }]],
      ];
      for (const [what, writes] of invalid) {
        await expect(table.transact(writes), what).rejects.toMatchObject({
          code: 'State.InvalidWrite',
        });
      }
      await expect(table.transact([put({ ...key })], 'x'.repeat(37))).rejects.toMatchObject({
        code: 'State.InvalidWrite',
      });
      await expect(table.query('p', '')).resolves.toEqual([]);
    });

    it('carries out 100 writes at once', async () => {
      const writes = Array.from({ length: 100 }, (_, n) => put({ pk: 'many', sk: `n${n}` }));
      await expect(table.transact(writes)).resolves.toEqual({ kind: 'committed' });
      await expect(table.query('many', 'n')).resolves.toHaveLength(100);
    });

    it('lets one of many concurrent conditional writes through', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          table.transact([put({ ...key, owner: `n${n}` }, { kind: 'absent' })]),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
    });
  });
}
