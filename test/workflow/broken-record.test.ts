/** A gap record that somebody or something spoilt must not blind the detector to the cluster. */
import { afterEach, expect, it } from 'vitest';
import { GapRecordStore } from '../../lib/gap/record-store.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

it('a broken gap record is told of, counted and replaced, and its gap is found all the same', async () => {
  world = new World();
  addUsual(world, 3);
  await world.start();
  const [node] = world.cluster.nodesOf('general');
  if (node === undefined) throw new Error('the cluster has no nodes');
  const daemonSet = 'kube-system/aws-node';
  world.cluster.setFault({ node: node.metadata.name, daemonSet }, { kind: 'crash-loop' });
  const sk = `${node.metadata.uid}#${daemonSet}`;
  await world.table.transact([
    { kind: 'put', item: { pk: 'gaps#prod', sk, nodeUid: node.metadata.uid } },
  ]);
  await world.pass(5);
  expect(world.scanFailures).toEqual([]);
  const told = world.logs.filter(({ message }) => message === 'gap records that cannot be read');
  expect(told).toEqual([
    { level: 'warn', message: told[0]?.message, fields: { cluster: 'prod', unreadable: [sk] } },
  ]);
  expect(world.counted.filter((name) => name === 'UnreadableRecords')).toHaveLength(1);
  await expect(new GapRecordStore(world.table).load('prod')).resolves.toMatchObject([
    { nodeUid: node.metadata.uid, daemonSet },
  ]);
});
