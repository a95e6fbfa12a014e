import { describe, expect, test } from 'vitest';
import { Budgets, type PodChange } from '../../../bench/scale/workloads.ts';
import type { Condition, Pod } from '../../../lib/kubernetes/objects.ts';

const workload = { app: 'web', pool: 'p', replicas: 3, maxUnavailable: 1 };
const ready: Condition = { type: 'Ready', status: 'True' };
const evicted: Condition = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
};

function pod(name: string, state: { conditions?: Condition[]; leaving?: boolean } = {}): Pod {
  const { conditions = [ready], leaving = false } = state;
  return {
    metadata: {
      name,
      uid: name,
      labels: { app: 'web' },
      ...(leaving ? { deletionTimestamp: '2026-11-30T12:00:00Z' } : {}),
    },
    spec: { containers: [] },
    status: { conditions },
  } as unknown as Pod;
}

const change = (type: PodChange['type'], object: Pod): PodChange => ({ type, object });

function followed(changes: PodChange[]): Budgets {
  const budgets = new Budgets([workload]);
  budgets.begin(['a', 'b', 'c'].map((name) => pod(name)));
  for (const each of changes) budgets.see(each);
  return budgets;
}

const leaves = (name: string, conditions: Condition[] = [ready, evicted]) => [
  change('MODIFIED', pod(name, { conditions, leaving: true })),
  change('DELETED', pod(name, { conditions, leaving: true })),
];

describe('the budgets', () => {
  test('are kept while one pod after the other is evicted', () => {
    const budgets = followed([
      ...leaves('a'),
      change('ADDED', pod('d', { conditions: [] })),
      change('MODIFIED', pod('d')),
      ...leaves('b'),
    ]);
    expect(budgets.lowest()).toEqual([{ app: 'web', lowest: 2, floor: 2 }]);
    expect(budgets.violations()).toEqual([]);
  });

  test('are not kept when a second pod goes before the first is Ready elsewhere', () => {
    const budgets = followed([...leaves('a'), ...leaves('b')]);
    expect(budgets.violations()).toEqual(['web had 1 pods available, fewer than 2']);
  });

  test('count a pod as gone from the moment when it is asked to go', () => {
    const [asked] = leaves('a');
    expect(followed(asked === undefined ? [] : [asked]).lowest()).toMatchObject([{ lowest: 2 }]);
  });

  test('tell of a pod that went without an eviction', () => {
    const budgets = followed(leaves('a', [ready]));
    expect(budgets.violations()).toEqual(['pod a went without an eviction']);
  });

  test('do not mind a pod that was never available', () => {
    const pending = pod('d', { conditions: [] });
    const budgets = followed([change('ADDED', pending), change('DELETED', pending)]);
    expect(budgets.violations()).toEqual([]);
  });

  test('do not mind the pods of others', () => {
    const other = pod('x');
    other.metadata.labels = { app: 'agent' };
    expect(followed([change('DELETED', other)]).violations()).toEqual([]);
  });
});
