import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import type { ClusterFacts, Detection, Gap } from '../../lib/gap/model.ts';
import type { Node, NodeClaim } from '../../lib/kubernetes/objects.ts';
import {
  actionableGaps,
  type BeyondTheRead,
  scopeCountsOf,
} from '../../lib/remediation/actionable.ts';
import { claim, mark, markAnnotation, node } from './builders.ts';
import { gapOf, minute, t0 } from './samples.ts';

interface Scene {
  nodes?: Node[];
  gaps?: Gap[];
  claims?: NodeClaim[];
  percent?: number;
  beyond?: BeyondTheRead;
}

/** A cluster of ten nodes `n1` to `n10` in one pool and zone, unless said otherwise. */
function verdictsOf({ nodes = pool(10), gaps = [gapIn('n1')], ...scene }: Scene) {
  const facts: ClusterFacts = {
    cluster: 'prod',
    readAt: t0,
    nodes,
    daemonSets: [],
    pods: [],
    events: { ok: true, items: [] },
    nodeClaims: { ok: true, items: scene.claims ?? [] },
  };
  const config = defaultConfig('prod', 'eu-west-1');
  config.breaker.maxUnhealthyPercent = scene.percent ?? 20;
  const detection: Detection = {
    cluster: 'prod',
    now: t0,
    gaps,
    unknown: [],
    nodes: nodes.length,
    eligiblePairs: nodes.length,
  };
  return {
    counts: scopeCountsOf(detection, facts, config, scene.beyond?.inWork ?? []),
    verdicts: actionableGaps(detection, facts, config, t0, scene.beyond),
  };
}

const labels = { 'karpenter.sh/nodepool': 'general', 'topology.kubernetes.io/zone': 'eu-west-1a' };

function pool(size: number): Node[] {
  return Array.from({ length: size }, (_, index) =>
    node({ name: `n${index + 1}`, labels, providerID: `aws:///eu-west-1a/i-${index}` }),
  );
}

function gapIn(name: string, overrides: Partial<Gap> = {}): Gap {
  return gapOf({
    node: name,
    nodeUid: `uid-${name}`,
    pool: 'general',
    zone: 'eu-west-1a',
    ...overrides,
  });
}

function outcomes(scene: Scene): string[] {
  return verdictsOf(scene).verdicts.map((verdict) =>
    verdict.kind === 'actionable'
      ? `${verdict.gap.node} act${verdict.canary ? ' as canary' : ''}`
      : `${verdict.gap.node} ${verdict.code}`,
  );
}

describe('actionableGaps', () => {
  it('acts on a confirmed gap that is the fault of its node', () => {
    expect(outcomes({})).toEqual(['n1 act']);
  });

  it.each<[string, Partial<Gap>, string, boolean]>([
    ['a DaemonSet that is not required', { required: false }, 'not-required', false],
    ['a ceiling of alert', { ceiling: 'alert' }, 'ceiling-alert', false],
    ['a young node or pod', { pastGrace: false }, 'young', true],
    ['a gap seen once', { confirmed: false }, 'unconfirmed', true],
    ['blame on the DaemonSet', { blame: 'daemonset' }, 'blame-daemonset', false],
    ['blame on the zone', { blame: 'zone' }, 'blame-zone', false],
    ['a cause that no node cures', { cause: 'config-error' }, 'hands-off', false],
    ['a NotReady node', { cause: 'node-not-ready' }, 'node-not-ready', false],
    ['a rollout', { cause: 'rollout' }, 'rollout', true],
  ])('leaves %s alone and says so', (_what, overrides, code, passing) => {
    const { verdicts } = verdictsOf({ gaps: [gapIn('n1', overrides)] });
    expect(verdicts).toEqual([expect.objectContaining({ kind: 'not-actionable', code, passing })]);
  });

  it('takes one node as canary where no culprit is known', () => {
    const unclear = { blame: 'unclear', cause: 'crash-loop' } as const;
    const gaps = [
      gapIn('n1', { ...unclear, since: t0 - 20 * minute }),
      gapIn('n2', { ...unclear, since: t0 - 30 * minute }),
    ];
    expect(outcomes({ gaps })).toEqual(['n1 canary-elsewhere', 'n2 act as canary']);
  });

  it.each<[string, Partial<Node['metadata']>, NodeClaim[], string]>([
    ['node being deleted', { deletionTimestamp: '2026-11-29T11:59:00Z' }, [], 'node-deleting'],
    ['node with a veto', { annotations: { 'nodegap.dev/skip': 'mine' } }, [], 'skip'],
    [
      'node whose claim has a veto',
      {},
      [
        claim({
          providerID: 'aws:///eu-west-1a/i-0',
          annotations: { 'karpenter.sh/do-not-repair': 'true' },
        }),
      ],
      'do-not-repair',
    ],
    [
      'node that a person uncordoned',
      { annotations: markAnnotation(mark) },
      [],
      'human-uncordoned',
    ],
  ])('leaves a %s alone', (_what, metadata, claims, code) => {
    const nodes = pool(10).map((each, index) =>
      index === 0 ? { ...each, metadata: { ...each.metadata, ...metadata } } : each,
    );
    expect(outcomes({ nodes, claims })).toEqual([`n1 ${code}`]);
  });

  it('leaves a node alone that is known to be leaving', () => {
    const beyond = { leavingReason: () => 'spot interruption at 12:02' };
    expect(outcomes({ beyond })).toEqual(['n1 leaving']);
  });

  it('takes a mark of its own installation for its own, and another for foreign', () => {
    const nodes = pool(10).map((each, index) =>
      index === 0
        ? {
            ...each,
            metadata: { ...each.metadata, annotations: markAnnotation(mark) },
            spec: { ...each.spec, unschedulable: true },
          }
        : each,
    );
    const { installation } = mark;
    expect(outcomes({ nodes, beyond: { installation } })).toEqual(['n1 act']);
    expect(outcomes({ nodes, beyond: { installation: 'other' } })).toEqual(['n1 foreign-mark']);
    expect(outcomes({ nodes })).toEqual(['n1 act']);
  });

  it.each<[number, number, boolean]>([
    [1, 1, true],
    [1, 3, true],
    [2, 3, false],
    [2, 10, true],
    [3, 10, false],
  ])('with %i of %i nodes unhealthy acts: %s', (unhealthy, total, acts) => {
    const gaps = Array.from({ length: unhealthy }, (_, index) => gapIn(`n${index + 1}`));
    const expected = gaps.map((gap) => `${gap.node} ${acts ? 'act' : 'breaker-open'}`);
    expect(outcomes({ nodes: pool(total), gaps })).toEqual(expected);
  });

  it('never acts at 0 percent', () => {
    expect(outcomes({ percent: 0 })).toEqual(['n1 breaker-open']);
  });

  it('counts nodes in work and breakers that still cool down', () => {
    const inWork = ['n8', 'n9'].map((name) => ({
      node: name,
      nodeUid: `uid-${name}`,
      pool: 'general',
      zone: 'eu-west-1a',
    }));
    expect(outcomes({ beyond: { inWork } })).toEqual(['n1 breaker-open']);
    const breakerStates = [
      {
        source: 'manual',
        kind: 'pool',
        name: 'general',
        trippedAt: t0,
        by: 'sam',
        reason: 'upgrade',
      } as const,
    ];
    expect(outcomes({ beyond: { breakerStates } })).toEqual(['n1 breaker-tripped']);
  });
});

describe('scopeCountsOf', () => {
  it('leaves out nodes whose NodeClaim is being deleted', () => {
    const claims = [
      claim({
        providerID: 'aws:///eu-west-1a/i-9',
        nodeName: 'n10',
        deletionTimestamp: '2026-11-29T11:59:00Z',
      }),
    ];
    const cluster = verdictsOf({ claims }).counts.find(({ kind }) => kind === 'cluster');
    expect(cluster).toMatchObject({ total: 9, unhealthy: 1 });
  });
});
