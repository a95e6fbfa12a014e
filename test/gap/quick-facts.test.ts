import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import type { ClusterFacts, DetectionPolicy } from '../../lib/gap/model.ts';
import { isReadInFull } from '../../lib/gap/pod-reads.ts';
import { readFullFacts, readQuickFacts } from '../../lib/gap/quick-facts.ts';
import { revisionOf } from '../../lib/gap/rollout.ts';
import { readFactsWithEvents } from '../../lib/kubernetes/facts.ts';
import type { DaemonSet, KubernetesEvent, Node, Pod } from '../../lib/kubernetes/objects.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import {
  condition,
  container,
  daemonSet,
  day,
  event,
  hour,
  minute,
  node,
  now,
  pod,
  policy,
  readyStatus,
  unreadyStatus,
  waiting,
} from './build.ts';
import { rowOf } from './pod-rows.ts';

interface World {
  nodes: Node[];
  daemonSets: DaemonSet[];
  pods: Pod[];
  events?: KubernetesEvent[];
}

/** A reader of a cluster that does not change, and what was asked of it. */
function readerOf(world: World) {
  const asked: string[] = [];
  const ask = <T>(what: string, answer: T): Promise<T> => {
    asked.push(what);
    return Promise.resolve(answer);
  };
  const ownedBy = ({ metadata }: DaemonSet) =>
    world.pods.filter(({ metadata: { ownerReferences } }) =>
      ownerReferences?.some(({ uid }) => uid === metadata.uid),
    );
  const reader = {
    listNodes: () => ask('nodes', world.nodes),
    listDaemonSets: () => ask('daemonsets', world.daemonSets),
    listDaemonSetPods: () => ask('all pods', world.pods),
    listNodeClaims: () => Promise.resolve(undefined),
    listEventsOf: (uid: string) =>
      Promise.resolve((world.events ?? []).filter((each) => each.involvedObject.uid === uid)),
    quick: {
      tabulateDaemonSetPods: (namespace: string) =>
        ask(
          `table ${namespace}`,
          world.pods.filter(({ metadata }) => metadata.namespace === namespace).map(rowOf),
        ),
      listDaemonSetPodsOnNode: (name: string) =>
        ask(
          `pods on ${name}`,
          world.pods.filter(({ spec }) => spec.nodeName === name),
        ),
      listUnscheduledDaemonSetPods: () =>
        ask(
          'unscheduled pods',
          world.pods.filter(({ spec }) => !spec.nodeName),
        ),
      listPodsOf: (of: DaemonSet) => ask(`pods of ${of.metadata.name}`, ownedBy(of)),
      hasOtherRevision: (of: DaemonSet, revision: string) =>
        ask(
          `revisions of ${of.metadata.name}`,
          ownedBy(of).some((each) => revisionOf(each) !== revision),
        ),
    },
  };
  return { asked, reader: reader as unknown as ClusterReader };
}

const clock = { now: () => now };

async function readQuickly(world: World, options: { policy?: DetectionPolicy; max?: number } = {}) {
  const { asked, reader } = readerOf(world);
  const facts = await readQuickFacts(reader, 'c', clock, {
    policy: options.policy ?? policy,
    worthwhilePairs: 0,
    maxNodesInFull: options.max ?? 200,
  });
  return { asked, facts };
}

/** Pod names are generated names, since only those tell the DaemonSet. */
let number = 0;
function podOf(owner: string, nodeName: string, options: Parameters<typeof pod>[1] = {}): Pod {
  number += 1;
  const name = `${owner}-${number.toString(36).padStart(5, 'x')}`;
  return pod(nodeName, { owner, ...options, metadata: { name, uid: name, ...options.metadata } });
}

const names = ['agent', 'cni', 'csi-node'];

function healthyWorld(size = 6): World {
  const nodes = Array.from({ length: size }, (_, index) => node(`n${index}`));
  return {
    nodes,
    daemonSets: names.map((name) => daemonSet(name)),
    pods: nodes.flatMap(({ metadata }) => names.map((name) => podOf(name, metadata.name))),
  };
}

const sees = (facts: ClusterFacts, at = policy) => detect(facts, at, now);

describe('a quick read', () => {
  it('reads no pod in full when all are surely healthy', async () => {
    const { asked, facts } = await readQuickly(healthyWorld());
    expect(asked).toEqual(['nodes', 'daemonsets', 'table kube-system']);
    expect(sees(facts)).toMatchObject({ gaps: [], unknown: [], nodes: 6, eligiblePairs: 18 });
  });

  it('reads the node of a doubtful pair in full, and all pods of its DaemonSet to compare', async () => {
    const world = healthyWorld();
    world.pods = world.pods.filter(({ metadata }) => !metadata.name.startsWith('cni'));
    for (const { metadata } of world.nodes) {
      const status =
        metadata.name === 'n2' ? unreadyStatus(hour, [waiting('CrashLoopBackOff')]) : undefined;
      world.pods.push(podOf('cni', metadata.name, status === undefined ? {} : { status }));
    }
    const { asked, facts } = await readQuickly(world);
    expect(asked.slice(3)).toEqual(['unscheduled pods', 'pods on n2', 'pods of cni']);
    const { gaps } = sees(facts);
    expect(gaps.map(({ node: name, cause }) => [name, cause])).toEqual([['n2', 'crash-loop']]);
  });

  it('compares nothing for a node that is not Ready', async () => {
    const world = healthyWorld();
    world.nodes[3] = node('n3', { conditions: [condition('Ready', 'False', hour)] });
    const { asked, facts } = await readQuickly(world);
    expect(asked.slice(3)).toEqual(['unscheduled pods', 'pods on n3']);
    expect(sees(facts).gaps).toHaveLength(3);
  });

  it('only asks for another revision when a pod is young', async () => {
    const world = healthyWorld();
    world.pods.pop();
    world.pods.push(
      podOf('csi-node', 'n5', {
        age: minute,
        status: unreadyStatus(minute, [waiting('ContainerCreating')]),
      }),
    );
    const { asked } = await readQuickly(world);
    expect(asked.slice(3)).toEqual(['unscheduled pods', 'pods on n5', 'revisions of csi-node']);
  });

  it('compares when an event of that young pod tells a cause', async () => {
    const world = healthyWorld();
    world.pods.pop();
    const status = unreadyStatus(minute, [waiting('ContainerCreating')]);
    const young = podOf('csi-node', 'n5', { age: minute, status });
    world.pods.push(young);
    world.events = [event(young, 'Pod', 'FailedMount', 'timed out', minute)];
    const { asked, facts } = await readQuickly(world);
    expect(asked.at(-1)).toBe('pods of csi-node');
    const full = await readFactsWithEvents(readerOf(world).reader, 'c', clock);
    expect(sees(facts)).toEqual(sees(full));
    expect(sees(facts).gaps[0]?.cause).toBe('volume');
  });

  it('compares when the grace of that young pod is about to end', async () => {
    const world = healthyWorld();
    world.pods.pop();
    const age = policy.podGraceMs - 30_000;
    const status = unreadyStatus(age, [waiting('ContainerCreating')]);
    world.pods.push(podOf('csi-node', 'n5', { age, status }));
    const { asked } = await readQuickly(world);
    expect(asked.at(-1)).toBe('pods of csi-node');
  });

  it('blames nobody where it could not compare', async () => {
    const world = healthyWorld();
    const { facts } = await readQuickly(world);
    const crash = podOf('cni', 'n2', {
      status: unreadyStatus(hour, [waiting('CrashLoopBackOff')]),
    });
    const covered = new Map(facts.quick);
    const of = 'uid-ds-cni';
    covered.set(of, new Set([...(covered.get(of) ?? [])].filter((name) => name !== 'n2')));
    const [gap] = sees({ ...facts, pods: [crash], quick: covered }).gaps;
    expect(gap).toMatchObject({ cause: 'crash-loop', blame: 'unclear' });
    expect(gap?.blameReason).toContain('were not read');
  });

  it('compares when that young pod may be part of an update', async () => {
    const world = healthyWorld();
    world.pods.pop();
    const status = unreadyStatus(minute, [waiting('ContainerCreating')]);
    world.pods.push(podOf('csi-node', 'n5', { age: minute, revision: 'rev-b', status }));
    const { asked, facts } = await readQuickly(world);
    expect(asked.at(-1)).toBe('pods of csi-node');
    expect(sees(facts).gaps[0]?.cause).toBe('rollout');
  });

  it('reads everything in full when too many nodes are doubtful', async () => {
    const world = healthyWorld();
    world.pods = world.pods.filter(({ spec }) => spec.nodeName === 'n0');
    const { asked, facts } = await readQuickly(world, { max: 4 });
    expect(asked.slice(3)).toEqual(names.map((name) => `pods of ${name}`));
    expect(isReadInFull(facts)).toBe(true);
  });

  it('reads everything in full where little is gained, or the server shows no tables', async () => {
    const { asked, reader } = readerOf(healthyWorld());
    await readQuickFacts(reader, 'c', clock, { policy });
    expect(asked).toEqual(['nodes', 'daemonsets', 'all pods']);

    const without = readerOf(healthyWorld());
    Object.assign(without.reader.quick ?? {}, { tabulateDaemonSetPods: async () => undefined });
    await readQuickFacts(without.reader, 'c', clock, { policy, worthwhilePairs: 0 });
    expect(without.asked.slice(2)).toEqual(names.map((name) => `pods of ${name}`));
  });

  it('reads one list of everything where there are many DaemonSets', async () => {
    const world = healthyWorld();
    world.daemonSets = Array.from({ length: 21 }, (_, index) => daemonSet(`ds-${index}`));
    const { asked, facts } = await readQuickly(world, { max: 0 });
    expect(asked.at(-1)).toBe('all pods');
    expect(isReadInFull(facts)).toBe(true);
  });

  it('reads a node in full that it is told to', async () => {
    const { asked, reader } = readerOf(healthyWorld());
    await readQuickFacts(reader, 'c', clock, {
      policy,
      worthwhilePairs: 0,
      inFull: ({ metadata }) => metadata.name === 'n1',
    });
    expect(asked.slice(3)).toEqual(['unscheduled pods', 'pods on n1']);
  });

  it('looks only at DaemonSets that are required', async () => {
    const world = healthyWorld();
    world.pods = world.pods.filter(({ metadata }) => !metadata.name.startsWith('agent'));
    const required: DetectionPolicy = {
      ...policy,
      requirementOf: ({ metadata }) =>
        metadata.name === 'agent' ? undefined : { ceiling: 'replace', chosenBy: 'name' },
    };
    const { asked, facts } = await readQuickly(world, { policy: required });
    expect(asked).toHaveLength(3);
    expect(sees(facts, required).gaps).toEqual([]);
    expect(() => sees(facts, { ...policy, allDaemonSets: true })).toThrow(/were not read/);
  });
});

describe('what a row is believed', () => {
  const one = (status: Pod['status'], more: Parameters<typeof pod>[1] = {}, ds = daemonSet()) =>
    readQuickly({
      nodes: [node('n0')],
      daemonSets: [ds],
      pods: [podOf('agent', 'n0', { status, ...more })],
    });

  it.each<[string, Pod['status'], Parameters<typeof pod>[1]?, DaemonSet?]>([
    [
      'a container that is not ready',
      unreadyStatus(hour, [container({ running: {} })], { phase: 'Running' }),
    ],
    [
      'a pod on its way out',
      readyStatus(hour),
      { metadata: { deletionTimestamp: '2026-11-29T12:00:30Z' } },
    ],
    ['a pod that was evicted', { phase: 'Failed', reason: 'Evicted' }],
    ['a node that was lost', { ...readyStatus(hour), reason: 'NodeLost' }],
    [
      'a readiness gate that is not met',
      readyStatus(hour),
      { spec: { nodeName: 'n0', readinessGates: [{ conditionType: 'g' }] } },
    ],
    [
      'a template with readiness gates',
      readyStatus(hour),
      {},
      daemonSet('agent', { template: { readinessGates: [{ conditionType: 'g' }] } }),
    ],
    [
      'a template with a sidecar',
      readyStatus(hour),
      {},
      daemonSet('agent', {
        template: { initContainers: [{ name: 's', restartPolicy: 'Always' }] },
      }),
    ],
    ['a name that was not generated', readyStatus(hour), { metadata: { name: 'agent' } }],
    ['a pod in another namespace', readyStatus(hour), { metadata: { namespace: 'other' } }],
  ])('not for %s', async (_what, status, more, ds) => {
    const { asked } = await one(status, more, ds);
    expect(asked).toContain('pods on n0');
  });

  it('for a pod that runs with all containers ready', async () => {
    expect((await one(readyStatus(hour))).asked).not.toContain('pods on n0');
  });

  it('also when its Ready condition says otherwise, which only a full read can see', async () => {
    const status = { ...readyStatus(hour), conditions: [condition('Ready', 'False', hour)] };
    expect((await one(status)).asked).not.toContain('pods on n0');
  });
});

const podStates = fc.constantFrom<Partial<Parameters<typeof pod>[1]> | undefined>(
  ...Array.from({ length: 40 }, () => ({})),
  undefined,
  { age: hour, status: unreadyStatus(hour, [waiting('CrashLoopBackOff')]) },
  { age: hour, status: unreadyStatus(hour, [waiting('ImagePullBackOff')]) },
  { age: hour, revision: 'rev-b' },
  { age: hour, revision: 'rev-b', status: unreadyStatus(hour, [waiting('CrashLoopBackOff')]) },
  { age: minute, status: unreadyStatus(minute, [waiting('ContainerCreating')]) },
  { age: minute, revision: 'rev-b', status: unreadyStatus(minute, [waiting('ContainerCreating')]) },
  { age: hour, bound: false, status: { phase: 'Pending' } },
  { metadata: { deletionTimestamp: '2026-11-29T12:00:30Z' } },
  { age: hour, status: { phase: 'Failed', reason: 'Evicted' } },
);
const nodeStates = fc.constantFrom<Parameters<typeof node>[1]>(
  ...Array.from({ length: 12 }, () => ({})),
  { age: minute },
  { conditions: [condition('Ready', 'False', hour)] },
  { conditions: [condition('Ready', 'True', day, { lastHeartbeatTime: '2026-11-29T11:00:00Z' })] },
  { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] },
  { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] },
  { labels: { 'eks.amazonaws.com/compute-type': 'fargate' } },
  { labels: { 'topology.kubernetes.io/zone': 'z-a' } },
  { labels: { 'topology.kubernetes.io/zone': 'z-b' } },
);
const worlds = fc
  .array(fc.record({ of: nodeStates, pods: fc.tuple(podStates, podStates, podStates) }), {
    minLength: 1,
    maxLength: 14,
  })
  .map((drawn): World => {
    number = 0;
    const world: World = {
      nodes: drawn.map(({ of }, index) => node(`n${index}`, of)),
      daemonSets: names.map((name) => daemonSet(name)),
      pods: drawn.flatMap(({ pods }, index) =>
        pods.flatMap((state, which) =>
          state === undefined ? [] : [podOf(names[which] ?? '', `n${index}`, state)],
        ),
      ),
    };
    // Half of the pods that are being made have an event that says what holds them up.
    world.events = world.pods.flatMap((each, index) =>
      index % 2 === 0 && each.status.phase === 'Pending'
        ? [event(each, 'Pod', 'FailedMount', 'timed out', minute)]
        : [],
    );
    return world;
  });

it('finds what a full read finds, word for word', async () => {
  let quick = 0;
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const full = await readFactsWithEvents(readerOf(world).reader, 'c', clock);
      const { facts } = await readQuickly(world);
      if (!isReadInFull(facts)) quick += 1;
      expect(sees(facts)).toEqual(sees(full));
      const { reader } = readerOf(world);
      const listed = await readFullFacts(reader, 'c', clock, { policy, worthwhilePairs: 0 });
      expect(sees(listed)).toEqual(sees(full));
    }),
    { numRuns: 600, seed: 20_261_130 },
  );
  expect(quick).toBeGreaterThan(200);
});
