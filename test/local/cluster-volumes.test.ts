import { expect, it } from 'vitest';
import { makeCluster, second } from './cluster-helpers.ts';

function withVolume() {
  const made = makeCluster();
  const { cluster } = made;
  cluster.addPool('general', { nodes: 1 });
  cluster.settle();
  const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
  cluster.addVolumeClaim('shop/data');
  cluster.addPod({ namespace: 'shop', name: 'db', node, claim: 'data' });
  cluster.settle();
  const attached = () =>
    cluster.list('volumeattachments').map(({ spec }) => [spec.nodeName, spec.source]);
  return { ...made, node, attached };
}

it('attaches a volume where its pod is, and detaches it some time after the pod has gone', () => {
  const { cluster, clock, pass, node, attached } = withVolume();
  expect(attached()).toEqual([[node, { persistentVolumeName: 'pvc-data' }]]);
  clock.ms = cluster.now;
  cluster.operations.deletePod('shop/db');
  pass(5 * second);
  expect(cluster.get('pods', 'shop/db')).toBeUndefined();
  expect(attached()).toHaveLength(1);
  pass(10 * second);
  expect(attached()).toEqual([]);
});

it('lets the volumes of a node go with it', () => {
  const { cluster, node, attached } = withVolume();
  cluster.operations.removeNode(node);
  expect(attached()).toEqual([]);
});
