import { describe, expect, it } from 'vitest';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import type { AuditEntry } from '../../local/cluster/api/api-server.ts';
import type { Happening } from '../../local/cluster/changes.ts';
import { checkAlerted, checkHeld, checkRepair, type RepairCast } from '../../local/demo/checks.ts';
import { type Check, type Ending, newChronicle } from '../../local/demo/ending.ts';
import { requiredDaemonSets } from '../../local/demo/platform.ts';
import { judgeBadImage, judgeHeld, judgeRepair } from '../../local/demo/verdicts.ts';

const noon = Date.parse('2026-11-29T12:00:00Z');
const minute = 60_000;
const cast: RepairCast = {
  sick: { name: 'sick', uid: 'uid-sick', claim: 'claim-sick', pool: 'compute' },
  healing: { name: 'healing', uid: 'uid-healing' },
};

function node(name: string, changes: Partial<Node> = {}): Node {
  return {
    metadata: { name, uid: `uid-${name}`, labels: { 'karpenter.sh/nodepool': 'compute' } },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
    ...changes,
  };
}

function daemonPods(nodeName: string, daemonSets = requiredDaemonSets): Pod[] {
  return daemonSets.map((key) => {
    const [namespace = '', name = ''] = key.split('/');
    return {
      metadata: {
        namespace,
        name: `${name}-${nodeName}`,
        uid: `${name}-${nodeName}`,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: name }],
      },
      spec: { nodeName },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    };
  });
}

function write(method: string, path: string, status = 200): AuditEntry {
  return { at: '2026-11-29T12:10:00Z', method, path, status, body: undefined };
}
const eviction = '/api/v1/namespaces/shop/pods/checkout-1/eviction';

function nodeHappened(
  kind: 'node-cordoned' | 'node-uncordoned' | 'node-added' | 'node-removed',
  name: string,
  minutes: number,
): Happening {
  const at = noon + minutes * minute;
  return { at, kind, node: name, pool: 'compute', zone: 'eu-west-1a' };
}

function emptyEnding(): Ending {
  return {
    ...newChronicle(),
    startedAt: noon,
    endedAt: noon + 20 * minute,
    nodes: [],
    pods: [],
    claims: [],
    machines: [],
    writes: [],
  };
}

function repaired(): Ending {
  const attempt = (name: string, code: string) => ({
    execution: name,
    node: name,
    nodeUid: `uid-${name}`,
    startedAt: noon,
    endedAt: noon + 9 * minute,
    status: 'SUCCEEDED',
    outcome: { code, message: '' },
  });
  return {
    ...emptyEnding(),
    nodes: [node('healing'), node('new'), node('other')],
    pods: ['healing', 'new', 'other'].flatMap((name) => daemonPods(name)),
    machines: [
      {
        instanceId: 'i-1',
        zone: 'a',
        node: 'sick',
        state: 'terminated',
        launchedAt: 0,
        kubeletRuns: false,
      },
    ],
    happenings: [
      nodeHappened('node-cordoned', 'healing', 3),
      nodeHappened('node-cordoned', 'sick', 3),
      nodeHappened('node-uncordoned', 'healing', 6),
      nodeHappened('node-added', 'new', 14),
      nodeHappened('node-removed', 'sick', 16),
    ],
    attempts: [attempt('healing', 'recovered'), attempt('sick', 'replaced')],
    writes: [
      write('PATCH', '/api/v1/nodes/sick'),
      write('PATCH', '/api/v1/nodes/healing'),
      write('POST', eviction, 429),
      write('POST', eviction, 201),
      write('DELETE', '/apis/karpenter.sh/v1/nodeclaims/claim-sick'),
    ],
  };
}

function failed(checks: Check[]): string[] {
  return checks.filter(({ ok }) => !ok).map(({ what }) => what);
}

/** What is spoilt, how, and the checks that have to notice. */
type Spoilt = [string, (ending: Ending) => Ending, string[]];

describe('the checks of scenario A', () => {
  it('all hold when it ended as it should', () => {
    expect(failed(checkRepair(cast, repaired()))).toEqual([]);
  });

  const replaceNode = (ending: Ending, changed: Node): Ending => ({
    ...ending,
    nodes: ending.nodes.map((one) => (one.metadata.uid === changed.metadata.uid ? changed : one)),
  });
  const replaceAttempt = (ending: Ending, name: string, code: string): Ending => ({
    ...ending,
    attempts: ending.attempts.map((attempt) =>
      attempt.node === name ? { ...attempt, outcome: { code, message: '' } } : attempt,
    ),
  });
  const unmarked = 'the healed node is uncordoned and unmarked';
  const gone = 'the sick node, its claim and its instance are gone';
  const isReady = 'a new node is Ready with every required DaemonSet';
  const table: Spoilt[] = [
    [
      'a cordon left',
      (e) => replaceNode(e, node('healing', { spec: { unschedulable: true } })),
      [unmarked],
    ],
    [
      'a taint left',
      (e) =>
        replaceNode(
          e,
          node('healing', {
            spec: { taints: [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' }] },
          }),
        ),
      [unmarked],
    ],
    [
      'a mark left',
      (e) =>
        replaceNode(
          e,
          node('healing', {
            metadata: {
              name: 'healing',
              uid: 'uid-healing',
              annotations: { 'nodegap.dev/isolation': '{}' },
            },
          }),
        ),
      [unmarked],
    ],
    [
      'a gap left',
      (e) => ({
        ...e,
        pods: e.pods.filter(({ metadata }) => metadata.name !== 'ebs-csi-node-healing'),
      }),
      ['its required DaemonSets are Ready'],
    ],
    [
      'another outcome of the healed node',
      (e) => replaceAttempt(e, 'healing', 'failed'),
      ['the healed node ended as recovered'],
    ],
    [
      'another outcome of the sick node',
      (e) => replaceAttempt(e, 'sick', 'drain-blocked'),
      ['the sick node ended as replaced'],
    ],
    [
      'an execution that failed',
      (e) => ({ ...e, attempts: e.attempts.map((one) => ({ ...one, status: 'FAILED' })) }),
      ['the healed node ended as recovered', 'the sick node ended as replaced'],
    ],
    ['the sick node still there', (e) => ({ ...e, nodes: [...e.nodes, node('sick')] }), [gone]],
    [
      'the claim still there',
      (e) => ({
        ...e,
        claims: [{ metadata: { name: 'claim-sick', uid: 'c' }, spec: {}, status: {} }],
      }),
      [gone],
    ],
    [
      'the instance still there',
      (e) => ({
        ...e,
        machines: e.machines.map((one) => ({ ...one, state: 'shutting-down' as const })),
      }),
      [gone],
    ],
    [
      'no new node',
      (e) => ({ ...e, nodes: e.nodes.filter(({ metadata }) => metadata.name !== 'new') }),
      [isReady],
    ],
    [
      'a new node that is not Ready',
      (e) =>
        replaceNode(
          e,
          node('new', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }),
        ),
      [isReady],
    ],
    [
      'a new node without its CNI',
      (e) => ({ ...e, pods: e.pods.filter(({ metadata }) => metadata.name !== 'aws-node-new') }),
      [isReady],
    ],
    [
      'a pod of the new node on its way out',
      (e) => ({
        ...e,
        pods: e.pods.map((pod) =>
          pod.metadata.name === 'aws-node-new'
            ? { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-11-29T12:19:00Z' } }
            : pod,
        ),
      }),
      [isReady],
    ],
    [
      'a node that was never isolated',
      (e) => ({
        ...e,
        happenings: e.happenings.filter((one) => !('node' in one && one.node === 'healing')),
      }),
      ['the healed node was isolated first'],
    ],
    [
      'a budget violated',
      (e) => ({ ...e, breaches: ['shop/checkout had 8'] }),
      ['no budget was violated'],
    ],
    [
      'no refusal by a budget',
      (e) => ({ ...e, writes: e.writes.filter(({ status }) => status !== 429) }),
      ['a budget refused an eviction before it gave way'],
    ],
    [
      'another node touched',
      (e) => ({ ...e, writes: [...e.writes, write('PATCH', '/api/v1/nodes/other')] }),
      ['no other node was touched'],
    ],
    [
      'a handler that failed',
      (e) => ({ ...e, failures: ['DrainNode failed'] }),
      ['no handler failed'],
    ],
  ];
  it.each(table)('notice %s', (_, spoil, noticed) => {
    expect(failed(checkRepair(cast, spoil(repaired())))).toEqual(noticed);
  });

  it('are told with the numbers of the run', () => {
    const { happened } = judgeRepair(cast, repaired());
    expect(happened.join('\n')).toContain('given back 3.0 min later');
    expect(happened.join('\n')).toContain('replaced by new');
    expect(happened.at(-1)).toBe(
      '1 eviction, 1 refused by a budget and tried again, 5 write requests in all',
    );
  });
});

const scan = (gaps: number, actionable = 0) => ({
  at: noon,
  result: { cluster: 'c', nodes: 12, gaps, actionable, unknown: 0, attempts: 0 },
});
const untouchedTable: Spoilt[] = [
  [
    'a write',
    (e) => ({ ...e, writes: [write('PATCH', '/api/v1/nodes/n')] }),
    ['nothing was written to the cluster'],
  ],
  [
    'a refused write',
    (e) => ({ ...e, writes: [write('POST', eviction, 403)] }),
    ['nothing was written to the cluster'],
  ],
  [
    'an execution',
    (e) => ({ ...e, attempts: [{ execution: 'x', node: 'n', nodeUid: 'u', startedAt: noon }] }),
    ['no execution was started'],
  ],
  [
    'a cordon',
    (e) => ({ ...e, nodes: [node('n', { spec: { unschedulable: true } })] }),
    ['no node is cordoned, tainted or marked'],
  ],
  ['a handler that failed', (e) => ({ ...e, failures: ['boom'] }), ['no handler failed']],
];

const of = { cluster: 'c', severity: 'warning', thread: 't' } as const;

describe('the checks of scenario B', () => {
  const alert = (body = 'kube-system/kube-proxy cannot get its image on 12 nodes.') => ({
    at: noon + 7 * minute,
    notice: { kind: 'alert' as const, ...of, subject: 's', body },
  });
  const good = (): Ending => ({ ...emptyEnding(), notices: [alert()], scans: [scan(12)] });
  const run = (ending: Ending) => failed(checkAlerted('kube-system/kube-proxy', 12, ending));

  it('all hold when it ended as it should', () => {
    expect(run(good())).toEqual([]);
    expect(judgeBadImage('kube-system/kube-proxy', 12, good()).happened[0]).toContain(
      'kube-system/kube-proxy cannot get its image on 12 nodes',
    );
  });

  const once = 'people were alerted exactly once';
  const table: Spoilt[] = [
    ...untouchedTable,
    ['no alert', (e) => ({ ...e, notices: [] }), [once]],
    ['two alerts', (e) => ({ ...e, notices: [alert(), alert()] }), [once]],
    ['an alert of something else', (e) => ({ ...e, notices: [alert('other')] }), [once]],
    ['fewer gaps', (e) => ({ ...e, scans: [scan(11)] }), ['the gap is on every node']],
  ];
  it.each(table)('notice %s', (_, spoil, noticed) => {
    expect(run(spoil(good()))).toEqual(noticed);
  });

  it('say so when nobody was alerted', () => {
    const verdict = judgeBadImage('kube-system/kube-proxy', 12, emptyEnding());
    expect(verdict.happened[0]).toBe('nobody was alerted');
  });
});

describe('the checks of scenario C', () => {
  const numbers = { unhealthy: 3, total: 10, limit: 2 };
  const opened = (body = 'pool render: 3 of 10 nodes unhealthy (30 %), limit 2.\nNodes: a.') => ({
    at: noon + 6 * minute,
    notice: { kind: 'breaker' as const, ...of, subject: 's', body },
  });
  const good = (): Ending => ({ ...emptyEnding(), notices: [opened()], scans: [scan(3)] });
  const run = (ending: Ending) => failed(checkHeld(numbers, ending));

  it('all hold when it ended as it should', () => {
    expect(run(good())).toEqual([]);
    expect(judgeHeld(numbers, good()).happened[0]).toBe(
      'the breaker opened after 6.0 min: pool render: 3 of 10 nodes unhealthy (30 %), limit 2.',
    );
  });

  const once = 'people were told exactly once';
  const numbersHold = 'the breaker opened at 3 of 10, limit 2';
  const held = 'the gaps are still there and not acted on';
  const table: Spoilt[] = [
    ...untouchedTable,
    ['no notice', (e) => ({ ...e, notices: [] }), [numbersHold, once]],
    ['two notices', (e) => ({ ...e, notices: [opened(), opened()] }), [once]],
    [
      'other numbers',
      (e) => ({ ...e, notices: [opened('pool render: 4 of 10 nodes unhealthy (40 %), limit 2.')] }),
      [numbersHold],
    ],
    ['a gap that is to be acted on', (e) => ({ ...e, scans: [scan(3, 1)] }), [held]],
    ['gaps that went away', (e) => ({ ...e, scans: [scan(0)] }), [held]],
  ];
  it.each(table)('notice %s', (_, spoil, noticed) => {
    expect(run(spoil(good()))).toEqual(noticed);
  });
});
