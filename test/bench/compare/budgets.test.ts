import { describe, expect, test } from 'vitest';
import { disruptionsOf } from '../../../bench/compare/budgets.ts';
import { Script } from './recordings.ts';

/** Three pods that are Ready, of which two have to stay so. */
function three(): Script {
  return new Script()
    .budget(0, 2)
    .pod(0, 'ADDED', 'a')
    .pod(0, 'ADDED', 'b', { node: 'n2' })
    .pod(0, 'ADDED', 'c', { node: 'n3' });
}

const evicted = { deleting: true, reason: 'EvictionByEvictionAPI' };

describe('disruption below a budget', () => {
  test('is none while enough pods are left', () => {
    const { recording } = three().pod(1, 'MODIFIED', 'a', { deleting: true });
    expect(disruptionsOf(recording)).toEqual({ evictions: 0, violations: [] });
  });

  test('is a violation when too few are left and nobody asked the API server', () => {
    const { recording } = three()
      .pod(1, 'MODIFIED', 'a', { deleting: true })
      .pod(2, 'MODIFIED', 'b', { node: 'n2', deleting: true, reason: 'DeletionByPodGC' });
    expect(disruptionsOf(recording).violations).toEqual([
      {
        budget: 'blue',
        pod: 'b',
        node: 'n2',
        at: 2000,
        left: 1,
        wanted: 2,
        reason: 'DeletionByPodGC',
      },
    ]);
  });

  test('is no violation when the API server has granted the eviction', () => {
    const { recording } = three()
      .pod(1, 'MODIFIED', 'a', evicted)
      .pod(2, 'MODIFIED', 'b', { node: 'n2', ...evicted });
    expect(disruptionsOf(recording)).toEqual({ evictions: 2, violations: [] });
  });

  test('counts a pod once, however often it changes on its way out', () => {
    const { recording } = three()
      .pod(1, 'MODIFIED', 'a', evicted)
      .pod(2, 'MODIFIED', 'a', { ...evicted, ready: false })
      .pod(3, 'DELETED', 'a', { ...evicted, ready: false });
    expect(disruptionsOf(recording)).toEqual({ evictions: 1, violations: [] });
  });

  test('sees a pod that is gone at once, without being on its way out first', () => {
    const { recording } = three().pod(1, 'DELETED', 'a').pod(1, 'DELETED', 'b');
    expect(disruptionsOf(recording).violations.map(({ pod }) => pod)).toEqual(['b']);
  });

  test('is none for a pod that was not Ready any more', () => {
    const { recording } = three()
      .pod(1, 'MODIFIED', 'a', { ready: false })
      .pod(2, 'MODIFIED', 'b', { ready: false })
      .pod(3, 'MODIFIED', 'a', { ready: false, deleting: true })
      .pod(4, 'DELETED', 'a', { ready: false, deleting: true });
    expect(disruptionsOf(recording).violations).toEqual([]);
  });

  test('is none when pods only cease to be Ready', () => {
    const { recording } = three()
      .pod(1, 'MODIFIED', 'a', { ready: false })
      .pod(1, 'MODIFIED', 'b', { ready: false });
    expect(disruptionsOf(recording)).toEqual({ evictions: 0, violations: [] });
  });

  test('goes by the number that the budget has at the time', () => {
    const { recording } = three().budget(1, 3).pod(2, 'MODIFIED', 'a', { deleting: true });
    expect(disruptionsOf(recording).violations).toMatchObject([{ left: 2, wanted: 3 }]);
  });

  test('leaves pods of DaemonSets out', () => {
    const { recording } = three()
      .daemonPod(0, 'ADDED', 'cni', 'n1', true)
      .daemonPod(1, 'DELETED', 'cni', 'n1', true);
    expect(disruptionsOf(recording)).toEqual({ evictions: 0, violations: [] });
  });
});
