import { describe, expect, it } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { GapVerdict } from '../../lib/remediation/actionable.ts';
import { planScan } from '../../lib/remediation/scan-plan.ts';
import { foreignMark, installation, mark, markAnnotation, node } from './builders.ts';
import { gapOf } from './samples.ts';

const taint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
const isolated = (name: string) =>
  node({ name, unschedulable: true, annotations: markAnnotation(mark) });
const actionable = (overrides: Partial<Gap> = {}): GapVerdict => ({
  kind: 'actionable',
  gap: gapOf(overrides),
  canary: false,
});
const not = (code: string, gap: Partial<Gap> = {}, passing = false): GapVerdict => ({
  kind: 'not-actionable',
  gap: gapOf(gap),
  code,
  message: `because of ${code}`,
  passing,
});
const plan = (verdicts: GapVerdict[], nodes: Node[] = [], inWork: string[] = []) =>
  planScan({ verdicts, nodes, inWork: new Set(inWork), installation });

describe('the attempts that a scan asks for', () => {
  const table: [string, GapVerdict[], Node[], string[], string[]][] = [
    ['a node with an actionable gap', [actionable()], [], [], ['n1: gap']],
    [
      'a node once, however many gaps',
      [actionable(), actionable({ daemonSet: 'a/b' })],
      [],
      [],
      ['n1: gap'],
    ],
    ['nothing for a node in work', [actionable()], [isolated('n1')], ['uid-n1'], []],
    ['nothing for what is not actionable', [not('young', {}, true), not('skip')], [], [], []],
    [
      'a node with our mark and no execution',
      [],
      [isolated('n1')],
      [],
      ['n1: mark-without-execution'],
    ],
    ['the gap as the reason where both hold', [actionable()], [isolated('n1')], [], ['n1: gap']],
    [
      'a node with our taint and no mark',
      [],
      [node({ taints: [taint] })],
      [],
      ['n1: mark-without-execution'],
    ],
    [
      'nothing for the mark of another installation',
      [],
      [node({ taints: [taint], annotations: markAnnotation(foreignMark) })],
      [],
      [],
    ],
    [
      'nothing for a mark that cannot be read',
      [],
      [node({ taints: [taint], annotations: { 'nodegap.dev/isolation': 'torn' } })],
      [],
      [],
    ],
    ['nothing for a cordon of someone else', [], [node({ unschedulable: true })], [], []],
    [
      'nothing for a node that is being deleted',
      [],
      [node({ annotations: markAnnotation(mark), deletionTimestamp: '2026-11-29T12:00:00Z' })],
      [],
      [],
    ],
  ];
  it.each(table)('are for %s', (_name, verdicts, nodes, inWork, expected) => {
    const { attempts } = plan(verdicts, nodes, inWork);
    expect(attempts.map((each) => `${each.node}: ${each.why}`)).toEqual(expected);
  });
});

describe('the alerts of a scan', () => {
  const keys = (verdicts: GapVerdict[], nodes: Node[] = [], inWork: string[] = []) =>
    plan(verdicts, nodes, inWork).alerts.map(({ key }) => key);

  it('are one for each DaemonSet and reason, with the nodes', () => {
    const { alerts } = plan([
      not('blame-daemonset'),
      not('blame-daemonset', { node: 'n2', nodeUid: 'uid-n2' }),
      not('hands-off', { daemonSet: 'logging/fluent-bit' }),
    ]);
    expect(alerts.map(({ key }) => key)).toEqual([
      'kube-system/aws-node#blame-daemonset',
      'logging/fluent-bit#hands-off',
    ]);
    expect(alerts[0]?.code).toBe('blame-daemonset');
    expect(alerts[0]?.message).toBe('because of blame-daemonset');
    expect(alerts[0]?.faults.map(({ node }) => node)).toEqual(['n1', 'n2']);
  });

  it('tell of a blame that stays unclear, which a person can clear up', () => {
    expect(keys([not('blame-unclear', {}, true)])).toEqual(['kube-system/aws-node#blame-unclear']);
    expect(keys([not('blame-unclear', { confirmed: false }, true)])).toEqual([]);
  });

  it('are one for nodes that are not Ready, however many DaemonSets lack a pod there', () => {
    const cause = 'node-not-ready';
    const { alerts } = plan([
      not('observer-disagrees', { cause }),
      not('observer-disagrees', { cause, daemonSet: 'kube-system/kube-proxy' }),
      not('observer-disagrees', { cause, node: 'n2', nodeUid: 'uid-n2' }),
    ]);
    expect(alerts.map(({ key }) => key)).toEqual(['node-not-ready#observer-disagrees']);
    expect(alerts[0]?.faults).toHaveLength(3);
  });

  it('tell of an observer that cannot tell, but not of what others repair', () => {
    expect(keys([not('observer-unknown', {}, true)])).toHaveLength(1);
    for (const code of ['left-to-karpenter', 'left-to-eks', 'left-to-auto-mode']) {
      expect(keys([not(code)])).toEqual([]);
    }
    expect(keys([not('eks-repair-unreadable')])).toHaveLength(1);
  });

  const silent: [string, GapVerdict][] = [
    ['what passes by itself', not('young', {}, true)],
    ['what is not required', not('not-required')],
    ['a node that is not Ready', not('node-not-ready')],
    ['an open breaker, which has a notice of its own', not('breaker-open')],
    ['a gap within its grace', not('hands-off', { pastGrace: false })],
    ['a gap that is not confirmed', not('hands-off', { confirmed: false })],
    ['an actionable gap', actionable()],
  ];
  it.each(silent)('are none for %s', (_name, verdict) => {
    expect(keys([verdict])).toEqual([]);
  });

  it('are none for a node in work or isolated, whose pods our own taint may keep out', () => {
    expect(keys([not('hands-off')], [], ['uid-n1'])).toEqual([]);
    expect(keys([not('hands-off')], [isolated('n1')])).toEqual([]);
    expect(keys([not('hands-off')], [isolated('n2')])).toHaveLength(1);
  });
});
