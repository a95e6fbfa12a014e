import { describe, expect, it } from 'vitest';
import { watchBudgets } from '../../local/demo/budget-watch.ts';
import { makeCluster, minute } from './cluster-helpers.ts';

function watched() {
  const { cluster, pass } = makeCluster();
  cluster.addPool('general', { nodes: 3 });
  cluster.addDeployment({ name: 'web', replicas: 3, image: 'web:v1', pdb: { maxUnavailable: 1 } });
  cluster.settle();
  const breaches: string[] = [];
  watchBudgets(cluster, (breach) => breaches.push(breach));
  const nodes = cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  const spoil = (node: string | undefined) => {
    cluster.setFault(
      { ...(node === undefined ? {} : { node }), image: 'web:v1' },
      { kind: 'never-ready' },
    );
    pass(minute);
  };
  return { breaches, nodes, spoil };
}

describe('the watch over budgets', () => {
  it('is silent while a budget has what it asks for', () => {
    const { breaches, nodes, spoil } = watched();
    spoil(nodes[0]);
    expect(breaches).toEqual([]);
  });

  it('tells when fewer pods are healthy', () => {
    const { breaches, nodes, spoil } = watched();
    spoil(nodes[0]);
    spoil(nodes[1]);
    expect(breaches).toEqual(['default/web had 1 healthy pods of 2, after pod-not-ready']);
  });
});
