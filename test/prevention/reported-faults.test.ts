/** Reported faults of other tools, by the ids of the case bank, in the light of startup and condition taints. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import { factsFromList } from '../../lib/kubernetes/dump.ts';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import { decideAdmission } from '../../lib/prevention/admit/decide.ts';
import { admittedAnnotation } from '../../lib/prevention/admit/mark.ts';
import type { Sighting } from '../../lib/prevention/condition-taints/model.ts';
import { condition, day, hour, minute, node, now, past, policy, second } from '../gap/build.ts';
import * as conditions from './condition-taints/sample.ts';
import {
  configOf,
  installation,
  nodeWith,
  says,
  tainted,
  told,
} from './condition-taints/sample.ts';

function dump(id: string): ClusterFacts {
  const file = new URL(`../gap/fixtures/${id}/cluster.json`, import.meta.url);
  return factsFromList(JSON.parse(readFileSync(file, 'utf8')));
}

/** The cluster with n2 changed. */
function withNode(facts: ClusterFacts, change: (n2: Node) => Node): ClusterFacts {
  const nodes = facts.nodes.map((each) => (each.metadata.name === 'n2' ? change(each) : each));
  return { ...facts, nodes };
}

const bearing =
  (key: string, effect = 'NoSchedule') =>
  (n2: Node) => ({
    ...n2,
    spec: { ...n2.spec, taints: [{ key, effect }] },
  });

/** What a pass makes of n2, as `NAME because` or `NAME code`. */
function admission(facts: ClusterFacts, required: string): string[] {
  const config = configOf(`requiredDaemonSets: [{ name: ${required} }]\n`);
  const { nodes, daemonSets, pods } = facts;
  const decision = decideAdmission(
    { nodes, daemonSets, pods, leaving: new Map(), installation },
    config,
    now,
  );
  return decision.nodes.flatMap((each) =>
    each.kind === 'left-alone'
      ? [each.reason]
      : [
          ...each.remove.map(({ name, because }) => `${name} ${because}`),
          ...each.wait.map(({ name, code }) => `${name} ${code}`),
        ],
  );
}

function gaps(facts: ClusterFacts) {
  return detect(facts, { ...policy, allDaemonSets: true }, now).gaps.map(
    ({ node: on, daemonSet, cause, message }) => ({ on, daemonSet, cause, message }),
  );
}

/** The cluster with another Ready condition of the pod of n2. */
function podOnN2(facts: ClusterFacts, ready: ReturnType<typeof condition>): ClusterFacts {
  const change = (pod: Pod): Pod =>
    pod.spec.nodeName === 'n2'
      ? { ...pod, status: { ...pod.status, phase: 'Running', conditions: [ready] } }
      : pod;
  return { ...facts, pods: facts.pods.map(change) };
}

describe('a startup taint', () => {
  it('C20: stays while the containers are started and not Ready', () => {
    const facts = withNode(dump('C20'), bearing('nodegap.dev/startup-datadog-agent'));
    expect(admission(facts, 'datadog-agent')).toEqual(['datadog-agent startup-pod-not-ready']);
  });

  test.each([
    ['while its DaemonSet is not Ready', 'False', minute, 'startup-pod-not-ready'],
    ['until it has been Ready for the soak', 'True', 29 * second, 'startup-soaking'],
    ['no longer', 'True', 30 * second, 'proved'],
  ])('C44: keeps workload away from a new node %s', (_until, status, age, answer) => {
    const born = withNode(dump('C44'), bearing('nodegap.dev/startup-aws-node'));
    const facts = podOnN2(born, condition('Ready', status, age));
    expect(admission(facts, 'aws-node')).toEqual([`aws-node ${answer}`]);
  });

  it('C44: is tolerated by its DaemonSet, so the gap of a new node is what it was', () => {
    const before = dump('C44');
    const facts = withNode(before, bearing('nodegap.dev/startup-aws-node'));
    expect(gaps(facts)).toEqual(gaps(before));
    expect(gaps(facts)).toMatchObject([{ cause: 'starting' }]);
  });

  const left = withNode(dump('C46'), bearing('nodegap.dev/startup-cilium', 'NoExecute'));

  it('C46: that is left on an old node comes off, since its DaemonSet is Ready there', () => {
    expect(admission(left, 'cilium')).toEqual(['cilium proved']);
  });

  it('C46: that somebody put back comes off at once, whatever its DaemonSet is', () => {
    const names = { cilium: past(day) };
    const marked = withNode(left, (n2) => {
      const mark = JSON.stringify({ installation, nodeUid: n2.metadata.uid, names });
      return { ...n2, metadata: { ...n2.metadata, annotations: { [admittedAnnotation]: mark } } };
    });
    const facts = podOnN2(marked, condition('Ready', 'False', minute));
    expect(admission(facts, 'cilium')).toEqual(['cilium proved-before']);
  });

  it('C46: is a gap of the DaemonSets that it keeps out, without any configuration', () => {
    expect(gaps(left)).toMatchObject([
      {
        on: 'n2',
        daemonSet: 'logging/fluent-bit',
        cause: 'untolerated-taint',
        message: expect.stringMatching(/^start-up taint nodegap\.dev\/startup-cilium/),
      },
    ]);
  });

  it('C51: that no required DaemonSet stands behind any more is left, and named', () => {
    const { nodes, daemonSets, pods } = left;
    const facts = { nodes, daemonSets, pods, leaving: new Map(), installation };
    const decision = decideAdmission(facts, configOf('requiredDaemonSets: [{ name: x }]\n'), now);
    expect(decision.orphans).toEqual(['cilium']);
    expect(decision.nodes).toMatchObject([{ remove: [] }]);
  });

  it('C63: stays while its DaemonSet is Ready for five seconds again and again', () => {
    const born = withNode(dump('C44'), bearing('nodegap.dev/startup-aws-node'));
    for (let time = 0; time < 3; time++) {
      for (const [status, code] of [
        ['True', 'startup-soaking'],
        ['False', 'startup-pod-not-ready'],
      ] as const) {
        const facts = podOnN2(born, condition('Ready', status, 5 * second));
        expect(admission(facts, 'aws-node')).toEqual([`aws-node ${code}`]);
      }
    }
  });
});

describe('a condition taint', () => {
  const over = (since: number): Sighting => ({
    nodeUid: 'uid-n1',
    rule: 'cni',
    seen: 'over',
    since: now - since,
    last: now,
  });

  it('C51: goes with its entry in the configuration, when its node is broken too', () => {
    const nodes = [
      tainted([says('True', hour)]),
      tainted([says('True', hour)], {
        name: 'n2',
        conditions: [condition('Ready', 'Unknown', hour)],
      }),
    ];
    const other = configOf('conditionTaints: [{ name: other, type: Other, status: True }]\n');
    expect(told(conditions.decide({ nodes }, other))).toEqual([
      'remove n1 cni condition-taint-orphan',
      'remove n2 cni condition-taint-orphan',
    ]);
  });

  it('C51: of an earlier entry goes while the cluster is paused', () => {
    const hold = { code: 'paused', message: 'by a person' } as const;
    const nodes = [tainted([says('True', hour)])];
    const none = configOf('conditionTaints: []\n');
    expect(told(conditions.decide({ nodes, holdOf: () => hold }, none))).toEqual([
      'remove n1 cni condition-taint-orphan',
    ]);
  });

  it('C63: stays on a node that is healthy for a moment three times', () => {
    let remembered: Sighting[] = [];
    for (let minutes = 0; minutes < 18; minutes++) {
      const at = now + minutes * minute;
      const status = minutes % 6 === 0 ? 'True' : 'False';
      const fresh = { lastHeartbeatTime: new Date(at).toISOString() };
      const nodes = [tainted([says(status, hour, fresh)])].map((each) => ({
        ...each,
        status: {
          ...each.status,
          conditions: (each.status.conditions ?? []).map((known) =>
            known.type === 'Ready' ? { ...known, ...fresh } : known,
          ),
        },
      }));
      const decision = conditions.decide({ nodes, remembered }, conditions.config, at);
      expect(decision.verdicts.filter(({ kind }) => kind === 'remove')).toEqual([]);
      remembered = decision.sightings;
    }
  });

  test.each([
    ['after 30 s of False', says('False', 30 * second), [over(30 * second)], 'condition-hold-up'],
    ['right after the restart', says('False', second), [], 'condition-hold-up'],
    ['with a time of change from before the restart', says('False', hour), [], 'condition-hold-up'],
    ['while it cannot say yet', says('Unknown', minute), [], 'condition-unknown'],
  ])('C98: stays when its detector restarts, %s', (_when, said, remembered, code) => {
    const verdicts = told(conditions.decide({ nodes: [tainted([said])], remembered }));
    expect(verdicts.map((line) => line.split(' ').slice(1))).toEqual([['n1', 'cni', code]]);
    expect(verdicts[0]).toMatch(/^(wait|keep) /);
  });

  it('C98: is not put on by what a detector says from before its node was Ready', () => {
    const fresh = node('n1', {
      conditions: [condition('Ready', 'True', minute, { lastHeartbeatTime: past(second) })],
    });
    const initial = says('True', hour, { lastHeartbeatTime: past(2 * minute) });
    const nodes = [nodeWith([initial], { conditions: fresh.status.conditions ?? [] })];
    const remembered: Sighting[] = [{ ...over(hour), seen: 'there' }];
    expect(told(conditions.decide({ nodes, remembered }))).toEqual(['keep n1 cni condition-stale']);
  });
});
