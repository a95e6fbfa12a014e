import { describe, expect, it } from 'vitest';
import type { Detection, Gap, UnknownEntry } from '../../lib/gap/model.ts';
import type { CrossCheck } from '../../lib/gap/status-check.ts';
import type { GapVerdict } from '../../lib/remediation/actionable.ts';
import { scanReport } from '../../lib/report/scan-report.ts';
import { scanTable } from '../../lib/report/scan-table.ts';
import { createStyle } from '../../lib/report/style.ts';
import { gapEvidence } from '../../lib/report/verdict-evidence.ts';
import { gapOf, minute, t0 } from '../remediation/samples.ts';

const acting = gapOf({ node: 'n1', pool: 'general', zone: 'eu-west-1a', cause: 'sandbox' });
const optional = gapOf({
  node: 'n2',
  nodeUid: 'uid-n2',
  daemonSet: 'logging/fluent-bit',
  required: false,
  cause: 'crash-loop',
  since: t0 - 3 * 24 * 60 * minute,
  pod: { namespace: 'logging', name: 'fluent-bit-x', uid: 'u', restarts: 14 },
});
const verdicts: GapVerdict[] = [
  { kind: 'actionable', gap: acting, canary: false },
  {
    kind: 'not-actionable',
    gap: optional,
    code: 'not-required',
    message: 'logging/fluent-bit is not a required DaemonSet',
    passing: false,
  },
];

function detectionOf(gaps: Gap[], unknown: UnknownEntry[] = []): Detection {
  return { cluster: 'prod', now: t0, gaps, unknown, nodes: 3, eligiblePairs: 6 };
}

function tableOf(
  shown: GapVerdict[],
  options: Partial<Parameters<typeof scanTable>[3]> = {},
  unknown: UnknownEntry[] = [],
): string {
  const detection = detectionOf(
    shown.map(({ gap }) => gap),
    unknown,
  );
  return scanTable(detection, shown, scanReport(detection, shown), {
    wide: false,
    style: createStyle(false),
    planOf: () => 'isolate → drain → replace',
    parallel: { pool: 1, cluster: 3 },
    explainCommand: (node) => `nodegap explain ${node}`,
    ...options,
  });
}

describe('scanReport', () => {
  it('has exactly the keys of the contract', () => {
    const ready = {
      object: 'pod logging/fluent-bit-x',
      field: 'status.conditions[Ready].status',
      value: 'not True',
      wouldChange: 'it becomes True, or another pod of the DaemonSet is Ready there',
    };
    const heartbeat = { object: 'node n3', field: 'heartbeat', value: 'old', wouldChange: 'new' };
    const unknown = [
      {
        node: 'n3',
        nodeUid: 'u3',
        reason: 'heartbeat-stale',
        message: 'silent',
        evidence: [heartbeat],
      },
      { reason: 'events-unavailable', message: 'denied' },
    ];
    const crossChecks: CrossCheck[] = [
      {
        kind: 'disagrees',
        daemonSet: 'kube-system/aws-node',
        computed: 3,
        desired: 2,
        message: 'm',
      },
      { kind: 'not-comparable', daemonSet: 'logging/fluent-bit', message: 'it is being deleted' },
    ];
    const detection = detectionOf([acting, optional], unknown);
    const { crossChecks: none, ...without } = scanReport(detection, verdicts);
    expect(none).toBeUndefined();
    const { crossChecks: shown, ...withThem } = scanReport(detection, verdicts, crossChecks);
    expect(withThem).toEqual(without);
    expect(shown).toEqual([
      {
        daemonSet: 'kube-system/aws-node',
        verdict: 'disagrees',
        computed: 3,
        desired: 2,
        message: 'm',
      },
      {
        daemonSet: 'logging/fluent-bit',
        verdict: 'not-comparable',
        message: 'it is being deleted',
      },
    ]);
    expect(without).toEqual({
      cluster: 'prod',
      now: '2026-11-29T12:00:00Z',
      gaps: [
        {
          node: 'n1',
          daemonSet: 'kube-system/aws-node',
          cause: 'sandbox',
          blame: 'node',
          actionable: true,
          since: '2026-11-29T11:40:00Z',
          message: 'container aws-node is not ready',
          required: true,
          otherCauses: [],
          blameReason: acting.blameReason,
          evidence: gapEvidence(acting),
          blameEvidence: acting.blameEvidence,
        },
        {
          node: 'n2',
          daemonSet: 'logging/fluent-bit',
          cause: 'crash-loop',
          blame: 'node',
          actionable: false,
          since: '2026-11-26T12:00:00Z',
          message: 'container aws-node is not ready',
          required: false,
          code: 'not-required',
          otherCauses: [],
          blameReason: optional.blameReason,
          evidence: [...optional.evidence, ready],
          blameEvidence: optional.blameEvidence,
        },
      ],
      unknown: [
        { node: 'n3', reason: 'heartbeat-stale', message: 'silent', evidence: [heartbeat] },
        { reason: 'events-unavailable', message: 'denied', evidence: [] },
      ],
      summary: {
        nodes: 3,
        eligiblePairs: 6,
        gaps: 2,
        actionable: 1,
        unknown: 2,
        byCause: { 'crash-loop': 1, sandbox: 1 },
      },
    });
  });
});

describe('scanTable', () => {
  it('shows a row a gap and what would be done', () => {
    expect(tableOf(verdicts)).toBe(
      [
        'NODE  DAEMONSET             CAUSE       BLAME  SINCE  ACTION',
        'n1    kube-system/aws-node  sandbox     node   20m    would isolate → drain → replace',
        'n2    logging/fluent-bit    crash-loop  node   3d     not required',
        '',
        '2 gaps on 2 nodes: 1 crash-loop, 1 sandbox (3 nodes, 6 pairs of node and DaemonSet looked at)',
        'nodegap would act on 1 node',
        'why: nodegap explain n1',
        '',
      ].join('\n'),
    );
  });

  it('adds place, pod, message and reason code when wide', () => {
    const text = tableOf(verdicts, { wide: true });
    expect(text).toMatch(/ACTION +POOL +ZONE +POD +MESSAGE +REASON/);
    expect(text).toMatch(/general +eu-west-1a +- +container/);
    expect(text).toMatch(/fluent-bit-x \(14 restarts\)/);
    expect(text).toMatch(/not-required: logging\/fluent-bit is not a required DaemonSet/);
  });

  it('cuts long messages in the column of the wide table only', () => {
    const message = `the kubelet says: ${'x'.repeat(600)}`;
    const gap = { ...acting, message };
    const shown: GapVerdict[] = [{ kind: 'actionable', gap, canary: false }];
    expect(tableOf(shown, { wide: true })).toContain(`${message.slice(0, 199)}…  `);
    expect(tableOf(shown, { wide: true, width: 80 })).toContain('x'.repeat(600));
    expect(scanReport(detectionOf([gap]), shown).gaps[0]?.message).toBe(message);
  });

  it('marks a canary', () => {
    const canary: GapVerdict[] = [{ kind: 'actionable', gap: acting, canary: true }];
    expect(tableOf(canary)).toContain('would isolate → drain → replace (canary)');
  });

  it('says how many nodes are worked on at a time when there are several', () => {
    const several = [acting, gapOf({ node: 'n3', nodeUid: 'uid-n3' })].map(
      (gap): GapVerdict => ({ kind: 'actionable', gap, canary: false }),
    );
    expect(tableOf(several)).toContain(
      'nodegap would act on 2 nodes, at most 1 of a pool and 3 of the cluster at a time\n',
    );
  });

  it('says that there is nothing', () => {
    expect(tableOf([])).toBe('✓ no gaps (3 nodes, 6 pairs of node and DaemonSet looked at)\n');
  });

  it('lists what is unknown and counts it', () => {
    const text = tableOf([], {}, [{ node: 'n3', reason: 'heartbeat-stale', message: 'silent' }]);
    expect(text).toMatch(/^NODE +DAEMONSET +UNKNOWN +WHY\nn3 +- +heartbeat-stale +silent\n/);
    expect(text).toContain(
      '? no gaps in the rest, nothing can be said of 1 of 3 nodes (3 nodes, 6 pairs of node and DaemonSet looked at, 1 unknown)',
    );
  });

  it.each<[string, UnknownEntry[], string]>([
    [
      'every node',
      ['n1', 'n2', 'n3'].map((node) => ({ node, reason: 'heartbeat-stale', message: 'silent' })),
      '? nothing can be said of 3 of 3 nodes (3 nodes, 6 pairs of node and DaemonSet looked at, 3 unknown)',
    ],
    [
      'a pair',
      [{ node: 'n1', daemonSet: 'a/b', reason: 'node-initialising', message: 'new' }],
      '? no gaps in what can be told (3 nodes, 6 pairs of node and DaemonSet looked at, 1 unknown)',
    ],
  ])('does not speak of "no gaps" alone when %s is unknown', (_what, unknown, line) => {
    expect(tableOf([], {}, unknown)).toContain(`\n${line}\n`);
  });

  it('puts the action under its row when there is no room beside it', () => {
    expect(tableOf(verdicts, { width: 70 }).split('\n\n')[0]).toBe(
      [
        'NODE  DAEMONSET             CAUSE       BLAME  SINCE',
        'n1    kube-system/aws-node  sandbox     node   20m',
        '    would isolate → drain → replace',
        'n2    logging/fluent-bit    crash-loop  node   3d',
        '    not required',
      ].join('\n'),
    );
  });

  it('puts cause and blame there too when the terminal is narrower still', () => {
    expect(tableOf(verdicts, { width: 40 }).split('\n\n')[0]).toBe(
      [
        'NODE  DAEMONSET             SINCE',
        'n1    kube-system/aws-node  20m',
        '    sandbox, blame: node',
        '    would isolate → drain → replace',
        'n2    logging/fluent-bit    3d',
        '    crash-loop, blame: node',
        '    not required',
      ].join('\n'),
    );
  });

  it('puts message and reason on lines of their own in wide output', () => {
    const text = tableOf(verdicts, { wide: true, width: 110 });
    expect(text).toMatch(/^NODE .* SINCE +POOL +ZONE +POD$/m);
    expect(text).toContain(
      '\n    not required\n    container aws-node is not ready\n    not-required: logging/fluent-bit is not',
    );
  });

  it.each([30, 60, 100])('cuts no action at %i columns', (width) => {
    const long = () => 'isolate → restart pod → drain (asks a person: 1 pod) → recheck → replace';
    const words = tableOf(verdicts, { width, planOf: long }).split(/\s+/).join(' ');
    expect(words).toContain(`would ${long()}`);
  });
});
