/** What `scan` and `explain` make of reads that are old, refused, cut off or incomplete. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import { readDump } from '../../lib/kubernetes/dump.ts';
import type { KubeconfigConnection } from '../../lib/kubernetes/kubeconfig.ts';
import type { Condition } from '../../lib/kubernetes/objects.ts';
import type { ExplainReport } from '../../lib/report/explain-report.ts';
import type { ScanReport } from '../../lib/report/scan-report.ts';
import { dumpOf, nodegap, noon, nothingThere } from './run.ts';

interface RawItem {
  kind: string;
  metadata: { name: string; uid?: string; labels?: object; ownerReferences?: object[] };
  spec: { nodeName?: string; providerID?: string };
  status: { phase?: string; conditions?: Condition[] };
}

/** Two nodes of Karpenter with one DaemonSet, whose pod has no sandbox on n2. */
function itemsOf(change: (items: RawItem[]) => RawItem[] | undefined): string {
  const list = JSON.parse(readFileSync(dumpOf('C30'), 'utf8')) as { items: RawItem[] };
  return JSON.stringify({ ...list, items: change(list.items) ?? list.items });
}

function n2In(items: RawItem[]): RawItem {
  const found = items.find(({ kind, metadata }) => kind === 'Node' && metadata.name === 'n2');
  if (found === undefined) throw new Error('n2 is gone');
  return found;
}

function podIn(items: RawItem[]): RawItem {
  const found = items.find(({ kind, spec }) => kind === 'Pod' && spec.nodeName === 'n2');
  if (found === undefined) throw new Error('the pod is gone');
  return found;
}

/** What both commands say, as text and as data. */
async function saidOf(stdin: string, now = noon) {
  const run = async (...args: string[]) => {
    const { out, err, code } = await nodegap([...args, '--file', '-', '--now', now], { stdin });
    expect(err).toBe('');
    return { out, code };
  };
  return {
    table: (await run('scan')).out,
    strict: (await run('scan', '--strict')).code,
    scan: JSON.parse((await run('scan', '-o', 'json')).out) as ScanReport,
    text: (await run('explain', 'n2')).out,
    explained: JSON.parse((await run('explain', 'n2', '-o', 'json')).out) as ExplainReport,
  };
}

describe('a node or pod of which nothing can be said', () => {
  const table: [string, (items: RawItem[]) => undefined, string, string][] = [
    [
      'heartbeat-stale',
      (items) => {
        for (const condition of n2In(items).status.conditions ?? []) {
          if (condition.type === 'Ready') condition.lastHeartbeatTime = '2026-11-29T11:45:00Z';
        }
      },
      'cannot be told',
      'node',
    ],
    [
      'node-conditions-missing',
      (items) => {
        const { status } = n2In(items);
        status.conditions = (status.conditions ?? []).filter(({ type }) => type !== 'Ready');
      },
      'cannot be told',
      'node',
    ],
    [
      'node-conditions-missing',
      (items) => {
        delete n2In(items).status.conditions;
      },
      'cannot be told',
      'node',
    ],
    [
      'pod-conditions-missing',
      (items) => {
        podIn(items).status = { phase: 'Running' };
      },
      'Ready',
      'pair',
    ],
    [
      'pod-conditions-missing',
      (items) => {
        podIn(items).status = {};
      },
      'Ready',
      'pair',
    ],
  ];

  it.each(table)('is %s, neither healthy nor a gap', async (reason, change, state, of) => {
    const said = await saidOf(itemsOf(change));
    expect(said.scan.gaps).toEqual([]);
    expect(said.scan.unknown).toMatchObject([{ node: 'n2', reason, evidence: expect.any(Array) }]);
    expect(said.scan.unknown[0]?.daemonSet).toBe(of === 'pair' ? 'logging/log-router' : undefined);
    expect(said.scan.unknown[0]?.evidence).not.toEqual([]);
    expect(said.scan.summary).toMatchObject({ gaps: 0, unknown: 1, nodes: 2, eligiblePairs: 2 });
    expect(said.table).toMatch(new RegExp(`^n2 .* ${reason} `, 'm'));
    expect(said.table).not.toContain('every');
    expect(said.strict).toBe(2);
    expect(said.text).toMatch(new RegExp(`^node n2: ${state} · `));
    expect(said.text).toMatch(/^\? logging\/log-router: cannot be told$/m);
    expect(said.text).toMatch(new RegExp(`unknown +${reason}: `));
    expect(said.text).toMatch(/changes when /);
    expect(said.explained.daemonSets).toMatchObject([{ verdict: 'unknown', reason }]);
  });

  it('says of the pod that it has no Ready condition, not that it is not Ready', async () => {
    const [, , , [, change] = []] = table;
    const { text } = await saidOf(itemsOf(change ?? (() => undefined)));
    expect(text).toMatch(/pod +log-router-\w+: Running, no Ready condition, /);
  });
});

describe('a node without provider id, labels and owner', () => {
  it('is judged as any other, and left to a person', async () => {
    const said = await saidOf(
      itemsOf((items) => {
        const node = n2In(items);
        delete node.spec.providerID;
        node.metadata.labels = {};
        delete node.metadata.ownerReferences;
      }),
    );
    expect(said.scan.gaps).toMatchObject([{ node: 'n2', cause: 'sandbox' }]);
    expect(said.text).toMatch(/^node n2: Ready · 3d old · pool none · zone none · kind unknown$/m);
    expect(said.text).toMatch(/hand to a person: nodes of kind unknown/);
    for (const key of ['providerId', 'pool', 'zone', 'nodeClaim']) {
      expect(said.explained.node).not.toHaveProperty(key);
    }
  });

  it('is an error without a uid', async () => {
    const stdin = itemsOf((items) => {
      delete n2In(items).metadata.uid;
    });
    for (const args of [['scan'], ['explain', 'n2']]) {
      const { out, err, code } = await nodegap([...args, '--file', '-'], { stdin });
      expect({ out, code }).toEqual({ out: '', code: 1 });
      expect(err).toMatch(/^error: items\[\d+\] is no usable Node: node n2 has no uid\nhint: /);
    }
  });
});

describe('a dump that holds a part', () => {
  it('is an error when only the first page of a list is there', async () => {
    const list = { apiVersion: 'v1', kind: 'PodList', metadata: { continue: 'token' }, items: [] };
    const stdin = `${itemsOf(() => undefined)}${JSON.stringify(list)}`;
    const { out, err, code } = await nodegap(['scan', '--file', '-'], { stdin });
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toContain('only the first page of a PodList');
  });

  it.each(['Node', 'DaemonSet', 'Pod'])('is an error without any %s', async (missing) => {
    const stdin = itemsOf((items) => items.filter(({ kind }) => kind !== missing));
    const { out, code } = await nodegap(['scan', '--file', '-'], { stdin });
    expect({ out, code }).toEqual({ out: '', code: 1 });
  });

  it('says that events might have told the cause', async () => {
    const said = await saidOf(itemsOf((items) => items.filter(({ kind }) => kind !== 'Event')));
    expect(said.scan.gaps).toMatchObject([{ cause: 'unknown', blame: 'unclear' }]);
    expect(said.scan.unknown).toMatchObject([{ reason: 'events-unavailable' }]);
    expect(said.text).toMatch(/unknown +events-unavailable: /);
    expect(said.explained.unknown).toMatchObject([{ reason: 'events-unavailable' }]);
  });
});

describe('a live read that is refused', () => {
  const { facts } = readDump(JSON.parse(readFileSync(dumpOf('C30'), 'utf8')));
  const refused = async () => {
    throw new KubernetesError('forbidden', 'the user may not list them');
  };

  async function live(refusal: object, ...args: string[]) {
    const reader = {
      listNodes: async () => facts.nodes,
      listDaemonSets: async () => facts.daemonSets,
      listDaemonSetPods: async () => facts.pods,
      listEventsOf: async () => (facts.events.ok ? facts.events.items : []),
      listNodeClaims: async () => [],
      listPodsOnNode: async () => [],
      listPodDisruptionBudgets: async () => [],
      ...refusal,
    };
    const connect = async () =>
      ({ name: 'live', reader, transport: nothingThere }) as unknown as KubeconfigConnection;
    return nodegap(args, { connect });
  }

  it.each([
    ['events', { listEventsOf: refused }, 'events-unavailable', 'unknown'],
    ['NodeClaims', { listNodeClaims: refused }, 'nodeclaims-unavailable', 'sandbox'],
  ])('is unknown where %s are', async (what, refusal, reason, cause) => {
    const scan = await live(refusal, 'scan', '--full', '-o', 'json');
    const report = JSON.parse(scan.out) as ScanReport;
    expect(report.gaps).toMatchObject([{ node: 'n2', cause }]);
    expect(report.unknown).toMatchObject([
      {
        reason,
        message: expect.stringContaining(`${what} may not be read: the user may not list them`),
        evidence: [{ wouldChange: expect.any(String) }],
      },
    ]);
    const table = await live(refusal, 'scan', '--full');
    expect(table.out).toMatch(new RegExp(`^- +- +${reason} `, 'm'));
    const explained = await live(refusal, 'explain', 'n2');
    expect(explained.out).toMatch(new RegExp(`unknown +${reason}: `));
  });

  it.each(['listNodes', 'listDaemonSets', 'listDaemonSetPods'])(
    'is an error where %s is refused',
    async (list) => {
      for (const args of [
        ['scan', '--full'],
        ['explain', 'n2'],
      ]) {
        const { out, err, code } = await live({ [list]: refused }, ...args);
        expect({ out, code }).toEqual({ out: '', code: 1 });
        expect(err).toContain('error: the user may not list them');
      }
    },
  );

  it('says that a drain cannot be planned, as text and as data', async () => {
    const refusal = { listPodDisruptionBudgets: refused };
    const { out } = await live(refusal, 'explain', 'n2', '-o', 'json');
    const { drain } = JSON.parse(out) as ExplainReport;
    expect(drain).toEqual({ unread: 'the user may not list them' });
    const { out: text } = await live(refusal, 'explain', 'n2');
    expect(text).toMatch(/a drain of this node would now\n +unknown +the user may not list them/);
  });
});
