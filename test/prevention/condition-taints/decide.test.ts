import { describe, expect, it, test } from 'vitest';
import { isoTime } from '../../../lib/clock.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { Sighting } from '../../../lib/prevention/condition-taints/model.ts';
import type { BreakerState } from '../../../lib/safety/breaker.ts';
import { condition, daemonSet, hour, minute, now, past, second } from '../../gap/build.ts';
import {
  config,
  configOf,
  decide,
  key,
  nodeWith,
  noteOf,
  rule,
  says,
  tainted,
  told,
} from './sample.ts';

function sighting(seen: Sighting['seen'], age: number, more: Partial<Sighting> = {}): Sighting {
  return { nodeUid: 'uid-n1', rule: 'cni', seen, since: now - age, last: now - minute, ...more };
}
const seenLong = [sighting('there', 2 * minute)];
const overLong = [sighting('over', 6 * minute)];

describe('one node and one rule', () => {
  test.each<[string, Node, Sighting[], string[]]>([
    [
      'adds what lasted',
      nodeWith([says('True', hour)]),
      seenLong,
      ['add n1 cni condition-taint-added'],
    ],
    [
      'waits for the minimum age',
      nodeWith([says('True', 4 * minute)]),
      seenLong,
      ['wait n1 cni condition-too-young'],
    ],
    [
      'waits for hold-down at the first sighting',
      nodeWith([says('True', hour)]),
      [],
      ['wait n1 cni condition-hold-down'],
    ],
    [
      'waits for hold-down one second before its end',
      nodeWith([says('True', hour)]),
      [sighting('there', 59 * second)],
      ['wait n1 cni condition-hold-down'],
    ],
    [
      'adds at the end of hold-down',
      nodeWith([says('True', hour)]),
      [sighting('there', 60 * second)],
      ['add n1 cni condition-taint-added'],
    ],
    [
      'starts hold-down anew when nobody looked for long',
      nodeWith([says('True', hour)]),
      [sighting('there', hour, { last: now - 11 * minute })],
      ['wait n1 cni condition-hold-down'],
    ],
    ['is silent about a healthy node', nodeWith([says('False', hour)]), [], []],
    ['is silent about a node without the condition', nodeWith([]), [], []],
    [
      'is silent about another reason',
      nodeWith([says('True', hour, { reason: 'Other' })]),
      seenLong,
      [],
    ],
    [
      'keeps a taint while the condition lasts',
      tainted([says('True', hour)]),
      [],
      ['keep n1 cni condition-taint-stands'],
    ],
    [
      'keeps a taint when only the reason has changed',
      tainted([says('True', hour, { reason: 'Other' })]),
      [],
      ['keep n1 cni condition-taint-stands'],
    ],
    [
      'waits for hold-up',
      tainted([says('False', hour)]),
      [sighting('over', 4 * minute)],
      ['wait n1 cni condition-hold-up'],
    ],
    [
      'waits for hold-up after a change between two scans',
      tainted([says('False', minute)]),
      overLong,
      ['wait n1 cni condition-hold-up'],
    ],
    [
      'removes what is over',
      tainted([says('False', hour)]),
      overLong,
      ['remove n1 cni condition-taint-removed'],
    ],
    [
      'counts a condition that is gone as over',
      tainted([]),
      overLong,
      ['remove n1 cni condition-taint-removed'],
    ],
    [
      'waits for hold-up when the condition is gone',
      tainted([]),
      [],
      ['wait n1 cni condition-hold-up'],
    ],
    [
      'adds nothing on a stale report',
      nodeWith([says('True', hour, { lastHeartbeatTime: past(15 * minute) })]),
      seenLong,
      ['keep n1 cni condition-stale'],
    ],
    [
      'removes nothing on a stale report',
      tainted([says('False', hour, { lastHeartbeatTime: past(15 * minute) })]),
      overLong,
      ['keep n1 cni condition-stale'],
    ],
    [
      'believes no report from the future',
      nodeWith([says('True', hour, { lastHeartbeatTime: isoTime(now + 2 * minute) })]),
      seenLong,
      ['keep n1 cni condition-stale'],
    ],
    [
      'believes nothing from before the node was Ready',
      tainted([says('False', hour)], {
        conditions: [condition('Ready', 'True', second, { lastHeartbeatTime: past(second) })],
      }),
      overLong,
      ['keep n1 cni condition-stale'],
    ],
    [
      'adds nothing on a node that is not Ready',
      nodeWith([says('True', hour)], { conditions: [condition('Ready', 'Unknown', minute)] }),
      seenLong,
      ['keep n1 cni condition-node-not-ready'],
    ],
    [
      'removes nothing on a node that is not Ready',
      tainted([says('False', hour)], { conditions: [condition('Ready', 'False', minute)] }),
      overLong,
      ['keep n1 cni condition-node-not-ready'],
    ],
    [
      'removes nothing on a node that has been silent',
      tainted([says('False', hour)], {
        conditions: [condition('Ready', 'True', hour, { lastHeartbeatTime: past(20 * minute) })],
      }),
      overLong,
      ['keep n1 cni heartbeat-stale'],
    ],
    [
      "leaves somebody else's taint of that key",
      nodeWith([says('False', hour)], { taints: [{ key, effect: 'NoSchedule' }] }),
      overLong,
      ['keep n1 cni condition-taint-foreign'],
    ],
    [
      'leaves the taint of another installation',
      tainted([says('False', hour)], {
        metadata: { annotations: noteOf('NoSchedule', 'cni', 'else') },
      }),
      overLong,
      ['keep n1 cni condition-taint-foreign'],
    ],
    [
      'adds nothing beside a note that it cannot read',
      nodeWith([says('True', hour)], {
        metadata: { annotations: { 'nodegap.dev/condition-taints': '{' } },
      }),
      seenLong,
      ['refused n1 cni condition-taint-foreign'],
    ],
    [
      'does not put back what a person took off',
      tainted([says('True', hour)], { taints: [] }),
      seenLong,
      ['refused n1 cni condition-taint-taken-off'],
    ],
    [
      'forgets what a person took off when the condition is over',
      tainted([says('False', hour)], { taints: [] }),
      overLong,
      ['remove n1 cni condition-taint-removed'],
    ],
    [
      'removes an orphan at once, also on a node that is not Ready',
      nodeWith([], {
        taints: [{ key: 'nodegap.dev/condition-old', effect: 'NoSchedule' }],
        metadata: { annotations: noteOf('NoSchedule', 'old') },
        conditions: [condition('Ready', 'False', minute)],
      }),
      [],
      ['remove n1 old condition-taint-orphan'],
    ],
    [
      'leaves an orphan that nodegap did not put on',
      nodeWith([], { taints: [{ key: 'nodegap.dev/condition-old', effect: 'NoSchedule' }] }),
      [],
      ['keep n1 old condition-taint-foreign'],
    ],
  ])('%s', (_title, node, remembered, expected) => {
    expect(told(decide({ nodes: [node], remembered }))).toEqual(expected);
  });

  it('gives a taint that stands the effect that its rule has now', () => {
    const nodes = [tainted([says('True', hour)])];
    expect(told(decide({ nodes }, configOf(rule(', effect: PreferNoSchedule'))))).toEqual([
      'add n1 cni condition-taint-added',
    ]);
  });

  it('goes by the times of the condition where nothing is remembered', () => {
    const nodes = [
      nodeWith([says('True', hour)]),
      tainted([says('False', hour)], { name: 'n2' }),
      tainted([says('False', minute)], { name: 'n3' }),
    ];
    expect(told(decide({ nodes, remembered: undefined, counts: [] }))).toEqual([
      'remove n2 cni condition-taint-removed',
      'wait n3 cni condition-hold-up',
      'add n1 cni condition-taint-added',
    ]);
  });

  it('changes nothing and remembers all while the read is not believed', () => {
    const nodes = [nodeWith([says('True', hour)]), tainted([says('False', hour)], { name: 'n2' })];
    const doubt = { code: 'observer-unwell', message: 'slow' };
    const decision = decide({ nodes, remembered: seenLong, doubt });
    expect(told(decision)).toEqual(['keep n1 cni observer-unwell', 'keep n2 cni observer-unwell']);
    expect(decision.sightings).toEqual(seenLong);
  });
});

describe('memory', () => {
  const step = (remembered: Sighting[], node: Node, at: number) =>
    decide({ nodes: [node], remembered }, config, at).sightings;
  const fault = (at: number) => nodeWith([says('True', hour, { lastHeartbeatTime: isoTime(at) })]);
  const well = (at: number) => nodeWith([says('False', hour, { lastHeartbeatTime: isoTime(at) })]);

  it('never lets a flapping detector come to the end of hold-down', () => {
    let remembered: Sighting[] = [];
    for (let scan = 0; scan < 20; scan++) {
      const at = now + scan * 45 * second;
      const node = scan % 2 === 0 ? fault(at) : well(at);
      const decision = decide({ nodes: [node], remembered }, config, at);
      expect(decision.verdicts.filter(({ kind }) => kind === 'add')).toEqual([]);
      remembered = decision.sightings;
    }
  });

  it('lets one that flaps between two scans wait from its last change', () => {
    const quick = configOf(rule(', minimumAge: 0s, holdDown: 2m'));
    const nodes = [nodeWith([says('True', minute)])];
    const decision = decide({ nodes, remembered: [sighting('there', hour)] }, quick);
    expect(told(decision)).toEqual(['wait n1 cni condition-hold-down']);
  });

  it('keeps the first sighting, and writes the last one only now and then', () => {
    const first = step([], fault(now), now);
    expect(first).toMatchObject([{ since: now, last: now }]);
    expect(step(first, fault(now + minute), now + minute)[0]).toBe(first[0]);
    const later = now + 5 * minute;
    expect(step(first, fault(later), later)).toMatchObject([{ since: now, last: later }]);
  });

  it('forgets what is not seen, and a node that is gone', () => {
    expect(step(seenLong, well(now), now)).toEqual([]);
    expect(decide({ nodes: [], remembered: seenLong }).sightings).toEqual([]);
  });

  it('keeps what it saw while the condition cannot be believed', () => {
    const stale = nodeWith([says('True', hour, { lastHeartbeatTime: past(hour) })]);
    expect(step(seenLong, stale, now)).toEqual(seenLong);
  });
});

describe('what forbids a taint', () => {
  const nodesOf = (
    total: number,
    faulty: number,
    options: (index: number) => object = () => ({}),
  ) =>
    Array.from({ length: total }, (_, index) =>
      nodeWith(index < faulty ? [says('True', hour - index * second)] : [], {
        name: `n${index}`,
        ...options(index),
      }),
    );
  const all = (nodes: Node[]) =>
    nodes.map(({ metadata }) => sighting('there', hour, { nodeUid: metadata.uid }));
  const kinds = (nodes: Node[], using = config, more = {}) =>
    told(decide({ nodes, remembered: all(nodes), ...more }, using));

  it('is the breaker of the cluster: exactly its limit is tainted in one run, the oldest first', () => {
    expect(kinds(nodesOf(10, 4))).toEqual([
      'add n0 cni condition-taint-added',
      'add n1 cni condition-taint-added',
      'refused n2 cni breaker-open',
      'refused n3 cni breaker-open',
    ]);
  });

  it('counts the taints that stand', () => {
    const nodes = nodesOf(10, 1);
    nodes[8] = tainted([says('True', hour)], { name: 'n8' });
    expect(kinds(nodes)).toContain('add n0 cni condition-taint-added');
    nodes[9] = tainted([says('True', hour)], { name: 'n9' });
    expect(kinds(nodes)).toContain('refused n0 cni breaker-open');
  });

  it('is the breaker of the pool', () => {
    const pool = (index: number) => ({
      labels: { 'karpenter.sh/nodepool': index < 5 ? 'small' : 'large' },
    });
    expect(kinds(nodesOf(20, 2, pool))).toEqual([
      'add n0 cni condition-taint-added',
      'refused n1 cni breaker-open',
    ]);
  });

  it('is the rule of one zone', () => {
    const zone = (index: number) => ({
      labels: { 'topology.kubernetes.io/zone': `z${index < 30 ? 1 : index < 60 ? 2 : 3}` },
    });
    expect(kinds(nodesOf(90, 6, zone))).toEqual([
      'add n0 cni condition-taint-added',
      'add n1 cni condition-taint-added',
      'add n2 cni condition-taint-added',
      'add n3 cni condition-taint-added',
      'refused n4 cni breaker-zone',
      'refused n5 cni breaker-zone',
    ]);
  });

  it('is not its count for PreferNoSchedule, which keeps no pod away', () => {
    const soft = configOf(rule(', effect: PreferNoSchedule'));
    expect(kinds(nodesOf(10, 4), soft).every((each) => each.startsWith('add'))).toBe(true);
  });

  it('is never asked about a node that counts as unhealthy already', () => {
    const two = configOf(
      'conditionTaints: [{ name: a, type: CNIUnwell, status: True }, { name: b, type: CNIUnwell, status: True }]\n',
    );
    const nodes = nodesOf(5, 1);
    const remembered = ['a', 'b'].map((name) =>
      sighting('there', hour, { nodeUid: 'uid-n0', rule: name }),
    );
    expect(told(decide({ nodes, remembered }, two))).toEqual([
      'add n0 a condition-taint-added',
      'add n0 b condition-taint-added',
    ]);
  });

  const measured: BreakerState = {
    source: 'measured',
    kind: 'cluster',
    name: 'cluster',
    openedAt: now - hour,
    lastAboveAt: now - 11 * minute,
    closesAt: now - minute,
    reopenUntil: now + hour,
    total: 10,
    unhealthy: 3,
    limit: 2,
    unhealthyNodes: [],
  };

  it.each<[string, object, string]>([
    ['a pause', { holdOf: () => ({ code: 'paused', message: 'by ann' }) }, 'paused'],
    [
      'a trip',
      {
        breakerStates: [
          {
            source: 'manual',
            kind: 'cluster',
            name: 'cluster',
            trippedAt: 0,
            by: 'ann',
            reason: 'x',
          },
        ],
      },
      'breaker-tripped',
    ],
    [
      'a cool-down',
      { breakerStates: [{ ...measured, closesAt: now + minute }] },
      'breaker-cooling',
    ],
    [
      'the pace of a scope that reopens',
      { breakerStates: [{ ...measured, lastBegunAt: now - minute }] },
      'breaker-reopening',
    ],
    ['a veto', { vetoOf: () => ({ code: 'node-deleting', message: 'goes' }) }, 'node-deleting'],
  ])('is %s, and none of them keeps a taint on', (_title, more, code) => {
    const nodes = [...nodesOf(10, 1), tainted([says('False', hour)], { name: 'old' })];
    const remembered = [...all(nodes).slice(0, 10), sighting('over', hour, { nodeUid: 'uid-old' })];
    expect(told(decide({ nodes, remembered, ...more }))).toEqual([
      'remove old cni condition-taint-removed',
      `refused n0 cni ${code}`,
    ]);
  });

  it('lets one node a run begin in a scope that reopens', () => {
    const decision = decide({
      nodes: nodesOf(20, 2),
      remembered: all(nodesOf(20, 2)),
      breakerStates: [measured],
    });
    expect(told(decision)).toEqual([
      'add n0 cni condition-taint-added',
      'refused n1 cni breaker-reopening',
    ]);
    expect(decision.verdicts[0]).toMatchObject({ turns: [measured] });
  });

  const required = configOf(`${rule()}requiredDaemonSets: [{ name: agent }]\n`);
  const tolerant = daemonSet('agent', { template: { tolerations: [{ key, operator: 'Exists' }] } });

  it('is a required DaemonSet that the taint would shut out', () => {
    const nodes = nodesOf(10, 1);
    const [verdict] = decide(
      { nodes, remembered: all(nodes), daemonSets: [daemonSet()] },
      required,
    ).verdicts;
    expect(verdict).toMatchObject({
      kind: 'refused',
      code: 'condition-shuts-out',
      shutOut: ['kube-system/agent'],
    });
  });

  it.each<[string, object, ReturnType<typeof daemonSet>]>([
    ['that tolerates it', required, tolerant],
    ['that is not required', config, daemonSet()],
    [
      'that is not meant for the node',
      required,
      daemonSet('agent', { template: { nodeSelector: { gpu: 'yes' } } }),
    ],
    [
      'that PreferNoSchedule does not keep out',
      configOf(`${rule(', effect: PreferNoSchedule')}requiredDaemonSets: [{ name: agent }]\n`),
      daemonSet(),
    ],
  ])('is no DaemonSet %s', (_title, using, daemonSet) => {
    const nodes = nodesOf(10, 1);
    const facts = { nodes, remembered: all(nodes), daemonSets: [daemonSet] };
    expect(told(decide(facts, using as typeof config))).toEqual([
      'add n0 cni condition-taint-added',
    ]);
  });
});
