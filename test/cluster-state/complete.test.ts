import { describe, expect, it } from 'vitest';
import { complete } from '../../lib/cluster-state/complete.ts';
import { journalFrom } from '../../lib/cluster-state/journal.ts';
import { JOURNAL, Objects, type StateObject } from '../../lib/cluster-state/objects.ts';
import type { Write } from '../../lib/ports.ts';
import { emptyCluster, openState } from './support.ts';

const pool = { pk: 'cluster#prod', sk: 'places#pool#p' };
const whole = { pk: 'cluster#prod', sk: 'places#cluster' };

const both = [pool, whole].map((key): Write => ({ kind: 'update', key, increment: { n: 1 } }));

/** A cluster in whose journal stands a transaction of which nothing is carried out. */
async function decided(writes = both, cluster = emptyCluster(), identity = 'ann@laptop') {
  const transport = cluster.transport();
  const { table } = await openState(transport, { identity });
  await table.transact([pool, whole].map((item): Write => ({ kind: 'put', item })));
  let died = false;
  const dying = {
    ...transport,
    request: async (request: Parameters<typeof transport.request>[0]) => {
      if (died) return new Promise<never>(() => undefined);
      const answer = await transport.request(request);
      died = request.method === 'PUT' && request.path.endsWith(JOURNAL);
      return answer;
    },
  };
  const { table: dead } = await openState(dying, { identity });
  void dead.transact(writes, 'token');
  while (!died) await new Promise((resolve) => setImmediate(resolve));
  const objects = new Objects(transport, 'nodegap');
  const get = async (name: string): Promise<StateObject> => {
    const object = await objects.get('configmap', name);
    if (object === undefined) throw new Error(`${name} is to be there`);
    return object;
  };
  const journal = async () => journalFrom(await get(JOURNAL), 'nodegap', 'local/nodegap');
  return { transport, table, objects, get, journal, writes };
}

it('whoever comes next completes what a dead writer decided, once', async () => {
  const { table, writes } = await decided();
  await expect(table.get(whole)).resolves.toEqual({ ...whole, n: 1 });
  await expect(table.get(pool)).resolves.toEqual({ ...pool, n: 1 });
  await expect(table.transact(writes, 'token')).resolves.toEqual({ kind: 'committed' });
  await expect(table.get(pool)).resolves.toEqual({ ...pool, n: 1 });
});

it('many may complete it at once', async () => {
  const { table, objects, journal } = await decided();
  const read = await journal();
  const outcomes = await Promise.all([1, 2, 3].map(() => complete(objects, read)));
  expect(outcomes.toSorted()).toEqual(['committed', 'moved', 'moved']);
  await expect(table.get(pool)).resolves.toEqual({ ...pool, n: 1 });
});

it('a change that was on its way when the transaction was taken back is refused', async () => {
  const { table, objects, get, journal } = await decided();
  const read = await journal();
  const { transaction } = read;
  if (transaction?.kind !== 'changes') throw new Error('changes are to stand in the journal');
  const late = await get('scope-cluster');
  const change = transaction.changes.find(({ name }) => name === 'scope-cluster');
  const edited = await get('scope-pool-p');
  await objects.replace({ ...edited, texts: { ...edited.texts, note: JSON.stringify(pool) } });

  await expect(complete(objects, read)).resolves.toBe('undone');
  const texts = { ...late.texts, ...change?.put };
  await expect(
    objects.replace({ ...late, texts, mark: transaction.mark }),
  ).resolves.toBeUndefined();
  await expect(table.get(whole)).resolves.toEqual(whole);
});

it('one who read the journal long ago changes nothing any more', async () => {
  const { table, objects, journal } = await decided();
  const old = await journal();
  await table.transact([{ kind: 'delete', key: whole }]);
  await table.sweep();
  await table.transact([{ kind: 'put', item: { ...whole, n: 9 } }]);
  await expect(complete(objects, old)).resolves.toBe('moved');
  await expect(table.get(whole)).resolves.toEqual({ ...whole, n: 9 });
});

it('a creation that arrives late makes nothing that counts', async () => {
  const { table, objects } = await decided();
  await table.transact([{ kind: 'delete', key: whole }]);
  await table.sweep();
  await objects.createEmpty('configmap', 'scope-cluster', 'scope');
  await expect(table.get(whole)).resolves.toBeUndefined();
  await expect(table.query('cluster#prod', 'places#')).resolves.toEqual([{ ...pool, n: 1 }]);
});

describe('a decision about a slot', () => {
  const slot = { pk: 'cluster#prod', sk: 'slot#uid-1' };

  it('is not carried out on a Lease that was made anew since', async () => {
    const { table, objects, journal } = await decided([{ kind: 'put', item: slot }]);
    const old = await journal();
    await table.transact([{ kind: 'delete', key: slot }]);
    await table.sweep();
    await objects.createEmpty('lease', 'slot-uid-1', 'slot');
    await expect(complete(objects, old)).resolves.toBe('moved');
    await expect(table.get(slot)).resolves.toBeUndefined();
  });

  it('is taken back when somebody took the slot over before it was carried out', async () => {
    const first = { kind: 'put', item: slot } as const;
    const commit = { kind: 'update', key: slot, set: { committedAt: 1 } } as const;
    const cluster = emptyCluster();
    const ann = await openState(cluster.transport(), { identity: 'ann' });
    await ann.table.transact([first]);
    const bob = await openState(cluster.transport(), { identity: 'bob' });
    const [seen] = await bob.leases.list();
    const { journal } = await decided([commit], cluster, 'ann');
    expect((await journal()).transaction).toBeDefined();
    if (seen === undefined) throw new Error('there is to be a slot');
    await expect(bob.leases.takeOver(seen, { gone: true })).resolves.toBe(true);
    await expect(bob.table.get(slot)).resolves.toEqual(slot);
    await expect(bob.table.transact([commit])).resolves.toEqual({ kind: 'committed' });
    expect(cluster.get('leases', 'nodegap/slot-uid-1')?.spec?.holderIdentity).toBe('bob');
  });
});
