import { describe, expect, test } from 'vitest';
import { faultsOn, poolsOf } from '../../../bench/scale/plan.ts';

const names = (pool: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${pool}-${String(index).padStart(3, '0')}`);

describe('the pools', () => {
  test('are one in each zone, and two when there are many nodes', () => {
    expect(poolsOf(100).map(({ zone }) => zone.at(-1))).toEqual(['a', 'b', 'c', 'd']);
    expect(
      poolsOf(1000)
        .map(({ zone }) => zone.at(-1))
        .join(''),
    ).toBe('abcdabcd');
  });

  test('have all nodes, as many each as the others or one more', () => {
    expect(poolsOf(1000).map(({ nodes }) => nodes)).toEqual(Array(8).fill(125));
    expect(poolsOf(102).map(({ nodes }) => nodes)).toEqual([26, 26, 25, 25]);
  });
});

describe('the faults', () => {
  const pools = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((pool) => names(pool, 125));
  const faults = faultsOn(pools, 50);

  test('are on as many nodes, one each', () => {
    expect(new Set(faults.map(({ node }) => node)).size).toBe(50);
  });

  test('leave every pool far below 20 %', () => {
    const inPool = Map.groupBy(faults, ({ node }) => node[0]);
    expect([...inPool.values()].map(({ length }) => length)).toEqual([7, 7, 6, 6, 6, 6, 6, 6]);
  });

  test('are of every kind and in every required DaemonSet, never often in the same way', () => {
    const alike = Map.groupBy(faults, ({ daemonSet, outcome }) => `${daemonSet} ${outcome}`);
    expect(new Set(faults.map(({ outcome }) => outcome)).size).toBe(5);
    expect(new Set(faults.map(({ daemonSet }) => daemonSet)).size).toBe(7);
    expect(Math.max(...[...alike.values()].map(({ length }) => length))).toBeLessThanOrEqual(2);
  });

  test('go on in other pools when one has no node left', () => {
    expect(faultsOn([['a'], ['b', 'c', 'd']], 4).map(({ node }) => node)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  test('cannot be more than there are nodes', () => {
    expect(() => faultsOn([['a']], 2)).toThrow('there are 1 nodes, not 2, to break');
  });
});
