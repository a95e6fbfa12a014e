import { describe, expect, it } from 'vitest';
import {
  breakerLimit,
  countScopes,
  countsFor,
  type NodeInWork,
  type ScopeCount,
} from '../../lib/safety/breaker.ts';
import { bySampleLabels, countsOf, gap, node, type SampleNode } from './samples.ts';

function count(
  input: { nodes: SampleNode[] } & Partial<Omit<Parameters<typeof countScopes>[0], 'nodes'>>,
): ScopeCount[] {
  return countScopes({
    gaps: [],
    inWork: [],
    percent: 20,
    ...bySampleLabels,
    ...input,
    nodes: input.nodes.map(node),
  });
}

function of(counts: ScopeCount[], kind: string, name = 'cluster'): ScopeCount | undefined {
  return counts.find((each) => each.kind === kind && each.name === name);
}

describe('breakerLimit', () => {
  it.each([
    [20, 0, 0],
    [20, 1, 1],
    [20, 4, 1],
    [20, 5, 1],
    [20, 9, 1],
    [20, 10, 2],
    [20, 14, 2],
    [20, 15, 3],
    [0, 100, 0],
    [100, 7, 7],
    [1, 99, 1],
    [29, 100, 29],
    [7, 5_000, 350],
  ])('is %i %% of %i: %i', (percent, total, limit) => {
    expect(breakerLimit(percent, total)).toBe(limit);
  });
});

describe('countScopes', () => {
  it('counts a node with a NoSchedule condition taint as unhealthy', () => {
    const taint = (name: string, key: string, effect: string) => ({
      ...node({ name }),
      spec: { taints: [{ key, effect }] },
    });
    const counts = countScopes({
      ...bySampleLabels,
      gaps: [],
      inWork: [],
      percent: 20,
      nodes: [
        taint('a', 'nodegap.dev/condition-cni', 'NoSchedule'),
        taint('b', 'nodegap.dev/condition-cni', 'PreferNoSchedule'),
        taint('c', 'nodegap.dev/startup-cni', 'NoSchedule'),
      ],
    });
    expect(of(counts, 'cluster')).toMatchObject({ total: 3, unhealthyNodes: ['a'] });
  });

  it('counts per pool, zone and cluster, in that order and by name', () => {
    const counts = countsOf({
      nodes: [
        { name: 'b', pool: 'p2', zone: 'z1', unhealthy: true },
        { name: 'a', pool: 'p1', zone: 'z2' },
        { name: 'c', pool: 'p1', zone: 'z1', unhealthy: true },
      ],
    });
    expect(
      counts.map(({ kind, name, total, unhealthy }) => [kind, name, total, unhealthy]),
    ).toEqual([
      ['pool', 'p1', 2, 1],
      ['pool', 'p2', 1, 1],
      ['zone', 'z1', 2, 2],
      ['zone', 'z2', 1, 0],
      ['cluster', 'cluster', 3, 2],
    ]);
    expect(of(counts, 'zone', 'z1')).toMatchObject({
      limit: 1,
      percent: 20,
      unhealthyNodes: ['b', 'c'],
      unhealthyUids: ['uid-b', 'uid-c'],
    });
  });

  it('counts a gap once per node, whatever its blame, when it could be acted on', () => {
    const nodes = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name }));
    const gaps = [
      gap('a', { blame: 'daemonset' }),
      gap('a', { daemonSet: 'kube-system/logs' }),
      gap('b', { ceiling: 'isolate', blame: 'cluster', confirmed: false }),
      gap('c', { ceiling: 'alert' }),
      gap('d', { required: false }),
      gap('e', { pastGrace: false }),
    ];
    expect(of(count({ nodes, gaps }), 'cluster')?.unhealthyNodes).toEqual(['a', 'b']);
  });

  it('counts nodes that are NotReady or Unknown, or have no Ready condition', () => {
    const nodes = [
      { name: 'a', ready: 'False' },
      { name: 'b', ready: 'Unknown' },
      { name: 'c', ready: 'True' },
    ];
    const silent = { ...node({ name: 'd' }), status: {} };
    const counts = countScopes({
      nodes: [...nodes.map(node), silent],
      gaps: [],
      inWork: [],
      percent: 20,
      ...bySampleLabels,
    });
    expect(of(counts, 'cluster')?.unhealthyNodes).toEqual(['a', 'b', 'd']);
  });

  it('does not count a node as NotReady within its grace, when it knows the time', () => {
    const now = Date.parse('2026-11-30T12:00:00Z');
    const nodes = [
      { name: 'young', ready: 'False', createdAt: '2026-11-30T11:50:01Z' },
      { name: 'old', ready: 'False', createdAt: '2026-11-30T11:50:00Z' },
      { name: 'ageless', ready: 'False' },
    ];
    const timed = count({ nodes, now, nodeGraceMs: 600_000 });
    expect(of(timed, 'cluster')?.unhealthyNodes).toEqual(['ageless', 'old']);
  });

  it('keeps a node in work in unhealthy and total, healthy, left out, or gone', () => {
    const inWork: NodeInWork[] = [
      { node: 'healthy', nodeUid: 'uid-healthy', pool: 'p', zone: 'z' },
      { node: 'leaving', nodeUid: 'uid-leaving', pool: 'p', zone: 'z' },
      { node: 'gone', nodeUid: 'uid-gone', pool: 'p', zone: 'z' },
    ];
    const nodes = ['healthy', 'leaving', 'other'].map((name) => ({ name, pool: 'p', zone: 'z' }));
    const counts = count({
      nodes,
      inWork,
      isCounted: (each) => each.metadata.name !== 'leaving',
    });
    for (const [kind, name] of [
      ['pool', 'p'],
      ['zone', 'z'],
      ['cluster', 'cluster'],
    ] as const) {
      expect(of(counts, kind, name)).toMatchObject({
        total: 4,
        unhealthy: 3,
        unhealthyNodes: ['gone', 'healthy', 'leaving'],
      });
    }
  });

  it('counts a node that took over the name of one in work as another node', () => {
    const counts = count({
      nodes: [{ name: 'ip-10-0-0-1', uid: 'new', pool: 'p' }],
      inWork: [{ node: 'ip-10-0-0-1', nodeUid: 'old', pool: 'p' }],
    });
    expect(of(counts, 'pool', 'p')).toMatchObject({ total: 2, unhealthy: 1 });
  });

  it('leaves out nodes that do not count, with their gaps', () => {
    const fargate = node({ name: 'fargate' });
    fargate.metadata.labels = { fargate: 'true' };
    const counts = countScopes({
      nodes: [fargate, node({ name: 'a' })],
      gaps: [gap('fargate')],
      inWork: [],
      percent: 20,
      ...bySampleLabels,
    });
    expect(of(counts, 'cluster')).toMatchObject({ total: 1, unhealthy: 0 });
  });

  it('names at most 20 nodes, and has the uids of all', () => {
    const names = Array.from({ length: 30 }, (_, n) => `n${String(n).padStart(2, '0')}`);
    const counts = count({
      nodes: names.map((name) => ({ name })),
      gaps: names.map((name) => gap(name)),
    });
    expect(of(counts, 'cluster')?.unhealthyNodes).toEqual(names.slice(0, 20));
    expect(of(counts, 'cluster')?.unhealthyUids).toHaveLength(30);
  });

  it('counts an empty cluster', () => {
    expect(count({ nodes: [] })).toMatchObject([{ kind: 'cluster', total: 0, limit: 0 }]);
  });
});

describe('countsFor', () => {
  const counts = countsOf({
    nodes: [
      { name: 'a', pool: 'p1', zone: 'z1' },
      { name: 'b', pool: 'p2', zone: 'z2' },
      { name: 'c', zone: 'z1' },
    ],
  });
  const names = (found: ScopeCount[]) => found.map(({ kind, name }) => `${kind} ${name}`);

  it('gives the scopes of a node', () => {
    expect(names(countsFor(counts, { pool: 'p1', zone: 'z1' }))).toEqual([
      'pool p1',
      'zone z1',
      'cluster cluster',
    ]);
  });

  it('gives zone and cluster for a node without a pool', () => {
    expect(names(countsFor(counts, { zone: 'z1' }))).toEqual(['zone z1', 'cluster cluster']);
  });
});
