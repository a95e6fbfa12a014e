import { describe, expect, it } from 'vitest';
import {
  type CrossCheck,
  crossChecksOf,
  type Disagreement,
  lastingDisagreements,
  nextDisagreements,
  unknownOf,
} from '../../lib/gap/status-check.ts';
import type { DaemonSet, Node, Pod } from '../../lib/kubernetes/objects.ts';
import { type DaemonSetOptions, daemonSet, minute, node, now, past, pod, policy } from './build.ts';

function withDesired(desired: number | undefined, options: DaemonSetOptions = {}): DaemonSet {
  const status = desired === undefined ? {} : { desiredNumberScheduled: desired };
  return daemonSet('agent', { ...options, status: { ...status, ...options.status } });
}

function checkOf(nodes: Node[], target: DaemonSet, pods: Pod[] = []): CrossCheck {
  const [check] = crossChecksOf({ nodes, daemonSets: [target], pods }, policy);
  if (check === undefined) throw new Error('nothing was compared');
  return check;
}

const taint = (key: string, effect: string) => ({ taints: [{ key, effect }] });
const fargate = { labels: { 'eks.amazonaws.com/compute-type': 'fargate' } };
const three = [node('n1'), node('n2'), node('n3')];

describe('the cross-check with the status', () => {
  it.each<[string, Node[], DaemonSet, number]>([
    ['plain nodes', three, withDesired(3), 3],
    ['no node', [], withDesired(0), 0],
    ['Fargate nodes', [node('n1'), node('f1', fargate)], withDesired(2), 2],
    [
      'nodes that are being deleted',
      [node('n1', { metadata: { deletionTimestamp: past(minute) } })],
      withDesired(1),
      1,
    ],
    ['silent nodes', [node('n1', { conditions: [] })], withDesired(1), 1],
    ['cordoned nodes', [node('n1', { unschedulable: true })], withDesired(1), 1],
    [
      'nodes with a taint that every pod of a DaemonSet tolerates',
      [node('n1', taint('node.kubernetes.io/unreachable', 'NoExecute'))],
      withDesired(1),
      1,
    ],
    [
      'nodes with a PreferNoSchedule taint',
      [node('n1', taint('soft', 'PreferNoSchedule'))],
      withDesired(1),
      1,
    ],
  ])('counts %s as the controller does', (_, nodes, target, computed) => {
    expect(checkOf(nodes, target)).toEqual({
      kind: 'agrees',
      daemonSet: 'kube-system/agent',
      computed,
      desired: computed,
      message: `nodegap and the DaemonSet's status both count ${computed} ${computed === 1 ? 'node' : 'nodes'} that should run it`,
    });
  });

  it.each<[string, Node[], DaemonSet]>([
    [
      'nodes that its selector leaves out',
      [node('n1'), node('n2', { labels: { disk: 'ssd' } })],
      withDesired(1, { template: { nodeSelector: { disk: 'ssd' } } }),
    ],
    [
      "nodes with nodegap's own taint, which intent looks past",
      [node('n1'), node('n2', taint('nodegap.dev/daemonset-gap', 'NoSchedule'))],
      withDesired(1),
    ],
    [
      'nodes that are not Ready, which intent looks past',
      [node('n1'), node('n2', taint('node.kubernetes.io/not-ready', 'NoSchedule'))],
      withDesired(1),
    ],
  ])('does not count %s', (_, nodes, target) => {
    expect(checkOf(nodes, target)).toMatchObject({ kind: 'agrees', computed: 1, desired: 1 });
  });

  it.each([
    [2, 'says 2'],
    [4, 'says 4'],
  ])('disagrees with a status of %i, and says both numbers', (desired, words) => {
    expect(checkOf(three, withDesired(desired))).toEqual({
      kind: 'disagrees',
      daemonSet: 'kube-system/agent',
      computed: 3,
      desired,
      message: `nodegap counts 3 nodes that should run it, and the DaemonSet's status (desiredNumberScheduled) ${words}`,
    });
  });

  describe('when a taint came to a node that keeps its pod', () => {
    const tainted = [node('n1'), node('n2', taint('dedicated', 'NoSchedule'))];
    const evicting = [node('n1'), node('n2', taint('dedicated', 'NoExecute'))];
    const both = [pod('n1'), pod('n2')];

    it('takes a status that still counts it for no disagreement', () => {
      const check = checkOf(tainted, withDesired(2), both);
      expect(check).toMatchObject({ kind: 'agrees', computed: 1, desired: 2 });
      expect(check.message).toBe(
        "nodegap counts 1 node that should run it and the DaemonSet's status 2: its controller may not have counted again since a taint came to 1 node that keeps its pod",
      );
    });

    it('believes a quick read that the node is covered', () => {
      const quick = new Map([['uid-ds-agent', new Set(['n1', 'n2'])]]);
      const parts = { nodes: tainted, daemonSets: [withDesired(2)], pods: [] };
      expect(crossChecksOf({ ...parts, quick }, policy)[0]?.kind).toBe('agrees');
      expect(crossChecksOf(parts, policy)[0]?.kind).toBe('disagrees');
    });

    it.each<[string, Node[], number, Pod[]]>([
      ['the node has no pod of it', tainted, 2, [pod('n1')]],
      ['the node has a pod of another', tainted, 2, [pod('n1'), pod('n2', { owner: 'other' })]],
      ['the number is higher still', tainted, 3, both],
      ['the number is lower than what is counted', tainted, 0, both],
      ['the taint would have thrown the pod out', evicting, 2, both],
    ])('disagrees when %s', (_, nodes, desired, pods) => {
      expect(checkOf(nodes, withDesired(desired), pods).kind).toBe('disagrees');
    });
  });

  it.each<[string, DaemonSet, RegExp]>([
    [
      'a DaemonSet that is being deleted',
      withDesired(1, { metadata: { deletionTimestamp: past(minute) } }),
      /being deleted/,
    ],
    [
      'a status of an older generation',
      withDesired(1, { metadata: { generation: 3 }, status: { observedGeneration: 2 } }),
      /of generation 2, and generation 3 is the newest/,
    ],
    ['a status without the number', withDesired(undefined), /no desiredNumberScheduled/],
  ])('does not compare %s', (_, target, message) => {
    expect(checkOf(three, target)).toEqual({
      kind: 'not-comparable',
      daemonSet: 'kube-system/agent',
      message: expect.stringMatching(message),
    });
  });

  it('does not compare before the controller has written any status', () => {
    const fresh = withDesired(0);
    delete fresh.status.observedGeneration;
    expect(checkOf(three, fresh).kind).toBe('not-comparable');
  });

  it('compares a dump of an old controller, which tells no generation', () => {
    const old = withDesired(3);
    delete old.metadata.generation;
    delete old.status.observedGeneration;
    expect(checkOf(three, old).kind).toBe('agrees');
  });

  it('looks at what the policy looks at', () => {
    const daemonSets = [
      withDesired(0),
      daemonSet('other', { status: { desiredNumberScheduled: 0 } }),
    ];
    const required = {
      requirementOf: ({ metadata }: DaemonSet) =>
        metadata.name === 'other' ? policy.requirementOf(daemonSet()) : undefined,
      allDaemonSets: false,
    };
    const keysOf = (allDaemonSets: boolean) =>
      crossChecksOf({ nodes: [], daemonSets, pods: [] }, { ...required, allDaemonSets }).map(
        (check) => check.daemonSet,
      );
    expect(keysOf(false)).toEqual(['kube-system/other']);
    expect(keysOf(true)).toEqual(['kube-system/agent', 'kube-system/other']);
  });
});

describe('a disagreement from scan to scan', () => {
  const check = (computed: number, desired: number, name = 'kube-system/agent'): CrossCheck => ({
    kind: computed === desired ? 'agrees' : 'disagrees',
    daemonSet: name,
    computed,
    desired,
    message: '',
  });
  const remembered = (more: Partial<Disagreement> = {}): Disagreement => ({
    daemonSet: 'kube-system/agent',
    computed: 3,
    desired: 2,
    since: now - 10 * minute,
    lastSeen: now - minute,
    ...more,
  });
  const scanned = (previous: Disagreement[], checks: CrossCheck[]) =>
    nextDisagreements(previous, checks, now, { unseenMs: 5 * minute });

  it('begins with the first scan that sees it', () => {
    expect(scanned([], [check(3, 2), check(1, 1, 'kube-system/other')])).toEqual([
      remembered({ since: now, lastSeen: now }),
    ]);
  });

  it('goes on, with the newest numbers', () => {
    expect(scanned([remembered()], [check(7, 2)])).toEqual([
      remembered({ computed: 7, lastSeen: now }),
    ]);
  });

  it('goes on over missed scans, up to a bound', () => {
    const at = (lastSeen: number) => scanned([remembered({ lastSeen })], [check(3, 2)])[0]?.since;
    expect(at(now - 5 * minute)).toBe(now - 10 * minute);
    expect(at(now - 5 * minute - 1)).toBe(now);
  });

  it('begins anew when it turns the other way', () => {
    expect(scanned([remembered()], [check(2, 3)])[0]?.since).toBe(now);
  });

  it.each<[string, CrossCheck[]]>([
    ['they agree', [check(3, 3)]],
    [
      'they cannot be compared',
      [{ kind: 'not-comparable', daemonSet: 'kube-system/agent', message: '' }],
    ],
    ['the DaemonSet is gone', []],
  ])('is forgotten once %s', (_, checks) => {
    expect(scanned([remembered()], checks)).toEqual([]);
  });

  it('is left alone by a scan that is older than what is known', () => {
    const newer = remembered({ lastSeen: now + 1 });
    expect(scanned([newer], [check(3, 3)])).toEqual([newer]);
    expect(scanned([newer], [check(2, 3)])).toEqual([newer]);
  });

  it('comes to the same when the same scan is counted twice', () => {
    const once = scanned([remembered()], [check(3, 2)]);
    expect(scanned(once, [check(3, 2)])).toEqual(once);
  });

  it('lasts from 15 minutes on', () => {
    const lasting = (age: number) => lastingDisagreements([remembered({ since: now - age })], now);
    expect(lasting(15 * minute - 1)).toEqual([]);
    expect(lasting(15 * minute)).toHaveLength(1);
  });

  it('is unknown with both numbers and what would change it', () => {
    expect(unknownOf(remembered())).toEqual({
      daemonSet: 'kube-system/agent',
      reason: 'status-disagrees',
      message: expect.stringMatching(
        /^nodegap counts 3 nodes .* says 2, since 2026-11-29T11:50:00Z: /,
      ),
      evidence: [
        {
          object: 'daemonset kube-system/agent',
          field: 'status.desiredNumberScheduled',
          value: '2',
          wouldChange: 'it becomes 3, what nodegap counts',
        },
      ],
    });
  });
});
