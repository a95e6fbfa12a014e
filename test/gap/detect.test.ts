import { describe, expect, it } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import {
  condition,
  crashing,
  daemonSet,
  detected,
  facts,
  node,
  now,
  past,
  pod,
  policy,
} from './build.ts';

describe('detect', () => {
  it('finds nothing in an empty cluster', () => {
    expect(detected({ daemonSets: [] })).toEqual({
      cluster: 'test',
      now,
      gaps: [],
      unknown: [],
      nodes: 0,
      eligiblePairs: 0,
      leftOut: [],
    });
  });

  it('looks at required DaemonSets only, unless asked for all', () => {
    const parts = { nodes: [node('n1')], daemonSets: [daemonSet(), daemonSet('other')] };
    const required = {
      requirementOf: ({ metadata }: { metadata: { name: string } }) =>
        metadata.name === 'agent'
          ? { ceiling: 'isolate' as const, chosenBy: 'name: agent' }
          : undefined,
    };
    expect(detected(parts, { policy: required })).toMatchObject({
      gaps: [{ daemonSet: 'kube-system/agent', required: true, ceiling: 'isolate' }],
      eligiblePairs: 1,
    });
    expect(detected(parts, { policy: { ...required, allDaemonSets: true } })).toMatchObject({
      gaps: [
        { daemonSet: 'kube-system/agent', required: true, ceiling: 'isolate' },
        { daemonSet: 'kube-system/other', required: false, ceiling: 'alert' },
      ],
      eligiblePairs: 2,
    });
  });

  it('sorts gaps, unknown entries and left out nodes by node, then DaemonSet', () => {
    const unregistered = { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] };
    const leaving = { metadata: { deletionTimestamp: past(0) } };
    const detection = detected({
      nodes: [
        node('n9'),
        node('n10'),
        node('u2', unregistered),
        node('u1', unregistered),
        node('l2', leaving),
        node('l1', leaving),
      ],
      daemonSets: [daemonSet('b'), daemonSet('a')],
    });
    const pairs = (list: { node?: string; daemonSet?: string }[]) =>
      list.map((each) => [each.node, each.daemonSet].join(' '));
    expect(pairs(detection.gaps)).toEqual([
      'n10 kube-system/a',
      'n10 kube-system/b',
      'n9 kube-system/a',
      'n9 kube-system/b',
    ]);
    expect(pairs(detection.unknown)).toEqual([
      'u1 kube-system/a',
      'u1 kube-system/b',
      'u2 kube-system/a',
      'u2 kube-system/b',
    ]);
    expect(detection.leftOut?.map((each) => each.node)).toEqual(['l1', 'l2']);
    expect(detection).toMatchObject({ nodes: 4, eligiblePairs: 8 });
  });

  it('says of a gap where it is, whose it is and by which pod', () => {
    const labels = {
      'karpenter.sh/nodepool': 'general',
      'topology.kubernetes.io/zone': 'eu-west-1a',
    };
    const own = crashing('n1');
    const detection = detected({ nodes: [node('n1', { labels })], pods: [own] });
    expect(detection.gaps).toMatchObject([
      {
        node: 'n1',
        nodeUid: 'uid-n1',
        pool: 'general',
        zone: 'eu-west-1a',
        daemonSet: 'kube-system/agent',
        daemonSetUid: 'uid-ds-agent',
        pod: {
          namespace: 'kube-system',
          name: own.metadata.name,
          uid: own.metadata.uid,
          revision: 'rev-a',
          restarts: 7,
        },
      },
    ]);
  });

  it('gives evidence for every gap', () => {
    const down = node('n3', { conditions: [condition('Ready', 'Unknown', 0)] });
    const detection = detected({
      nodes: [node('n1'), node('n2'), down],
      pods: [crashing('n1')],
    });
    expect(detection.gaps).toHaveLength(3);
    for (const { evidence, message, blameReason } of detection.gaps) {
      expect(evidence.length).toBeGreaterThan(0);
      expect(evidence[0]?.wouldChange).toBeTruthy();
      expect(message).not.toBe('');
      expect(blameReason).not.toBe('');
    }
  });

  it('does not change what it reads', () => {
    const read = facts({ nodes: [node('n2'), node('n1')], pods: [crashing('n1')] });
    const copy = structuredClone(read);
    detect(read, policy, now);
    expect(read).toEqual(copy);
  });

  it('takes work in proportion to the pairs, healthy or not', () => {
    for (const make of [pod, crashing]) {
      const small = readsOf(100, make);
      expect(readsOf(400, make)).toBeLessThanOrEqual(4 * small + 50);
    }
  });
});

/** How often a field of any pod or node is read, for that many nodes and three DaemonSets. */
function readsOf(count: number, make: typeof pod): number {
  let reads = 0;
  const counting = <T extends object>(object: T): T =>
    new Proxy(object, {
      get(target, key, receiver) {
        reads += 1;
        return Reflect.get(target, key, receiver);
      },
    });
  const names = ['a', 'b', 'c'];
  const nodes = Array.from({ length: count }, (_, index) => counting(node(`n${index}`)));
  const pods = names.flatMap((owner) =>
    nodes.map(({ metadata }) => counting(make(metadata.name, { owner }))),
  );
  const daemonSets = names.map((name) => daemonSet(name));
  detect(facts({ nodes, pods, daemonSets }), policy, now, new Map());
  return reads;
}

describe('NodeClaims that cannot be read', () => {
  const denied = { ok: false as const, reason: 'NodeClaims may not be read: forbidden' };
  const karpenters = (name: string) =>
    node(name, { labels: { 'karpenter.sh/nodepool': 'general' } });
  const owned = node('n1', {
    metadata: {
      ownerReferences: [
        { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'general-x', uid: 'c' },
      ],
    },
  });

  it.each([
    ['by its pool', karpenters('n1')],
    ['by its owner', owned],
  ])('are unknown, once, when a node of Karpenter (%s) has a gap', (_, troubled) => {
    const parts = { nodes: [troubled, node('n2')], nodeClaims: denied };
    const { gaps, unknown } = detected(parts);
    expect(gaps).toHaveLength(2);
    expect(unknown).toEqual([
      {
        reason: 'nodeclaims-unavailable',
        message:
          'NodeClaims could not be read (NodeClaims may not be read: forbidden): 1 node with a gap may be on the way out already',
        evidence: [
          {
            object: 'nodeclaims.karpenter.sh',
            field: 'list',
            value: 'NodeClaims may not be read: forbidden',
            wouldChange: 'they can be read',
          },
        ],
      },
    ]);
  });

  it.each<[string, Parameters<typeof detected>[0]]>([
    [
      'no node of Karpenter has a gap',
      { nodes: [karpenters('n1'), node('n2')], pods: [pod('n1')] },
    ],
    ['nothing is wrong', { nodes: [karpenters('n1')], pods: [pod('n1')] }],
    [
      'a dump was not asked for them',
      { nodes: [karpenters('n1')], nodeClaims: { ...denied, notAsked: true } },
    ],
    ['there are none', { nodes: [karpenters('n1')], nodeClaims: { ok: true, items: [] } }],
  ])('are not spoken of when %s', (_, parts) => {
    expect(detected({ nodeClaims: denied, ...parts }).unknown).toEqual([]);
  });
});
