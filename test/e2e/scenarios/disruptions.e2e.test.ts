/** Karpenter disrupts a node of its own accord, for drift or because it is empty, beside nodegap. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubernetesEvent, Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { node } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { ObservedRun } from '../support/observed-run.ts';
import type { Recorder } from '../support/recorder.ts';
import { only, Scene, statesOf, wideBreaker } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { markOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

/** Waits until one of the states of a node that were seen is such a one. */
function seenTo(seen: Recorder<Node>, { metadata }: Node, be: (state: Node) => unknown) {
  return waitFor(
    () => seen.changes.some(({ object }) => object.metadata.uid === metadata.uid && be(object)),
    { timeout: 240_000, what: `${metadata.name} to be changed` },
  );
}

/** Karpenter takes away what is empty, as soon as it sees it. */
async function consolidateAtOnce({ name }: Scene): Promise<void> {
  await cluster.client().patch(`/apis/karpenter.sh/v1/nodepools/${name}`, {
    spec: { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1' }] } },
  });
}

/** How often Karpenter said that it disrupts the node because nothing runs on it. */
async function consolidationsOf({ metadata }: Node): Promise<number> {
  const events = await cluster.client().list<KubernetesEvent>('/api/v1/events');
  return events.filter(
    ({ involvedObject, reason, message }) =>
      involvedObject.kind === 'Node' &&
      involvedObject.name === metadata.name &&
      reason === 'DisruptionTerminating' &&
      message === 'Disrupting Node: Empty',
  ).length;
}

/** What nodegap may say of a node that Karpenter ends, by how far Karpenter is. */
const leftToKarpenter = ['karpenter-disrupted', 'claim-deleting', 'node-deleting', 'node-gone'];

/** The evictions of the workload; one of the DaemonSet's pod is the restart that is tried first. */
function drained({ writes }: ObservedRun) {
  return writes.filter(
    ({ subresource, name, code }) =>
      subresource === 'eviction' && name?.startsWith('web-') && code === 201,
  );
}

/** A run in which `disrupt` is done as soon as the victim is isolated, to be left to Karpenter. */
function runInHoldDown(
  scene: Scene,
  [victim, witness]: readonly [Node, Node],
  disrupt: () => Promise<void>,
): Promise<ObservedRun> {
  return scene.run({
    nodes: [victim.metadata.name],
    // Longer than Karpenter needs.
    config: { timings: { holdDown: 120 }, breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (seen) => {
      await seenTo(seen, victim, markOf);
      await disrupt();
    },
  });
}

test.concurrent('a node that Karpenter replaces for drift is left to Karpenter', async () => {
  const scene = await Scene.make(cluster, { name: 'drift', pool: { registrationDelay: '5s' } });
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  // Karpenter's choice is the victim, and the witness stays.
  const others = (await scene.nodes())
    .map(({ metadata }) => metadata.name)
    .filter((n) => n !== name);
  await cluster.kubectl(['annotate', 'node', ...others, 'karpenter.sh/do-not-disrupt=true']);
  await scene.break(name, 'never-ready');
  const run = await runInHoldDown(scene, [victim, witness], async () => {
    await cluster.client().patch(`/apis/karpenter.sh/v1/nodepools/${scene.name}`, {
      spec: {
        disruption: { budgets: [{ nodes: '1' }] },
        template: { metadata: { labels: { release: 'next' } } },
      },
    });
  });
  const ended = only(run.ended);
  expect(leftToKarpenter).toContain(ended.code);
  const disrupted = statesOf(run, uid).some(({ spec }) =>
    spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted'),
  );
  expect(disrupted).toBe(true);
  expect(ended.tasks).not.toContain('DrainNode');
  expect(run.slots).toEqual([]);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([]);
  await waitFor(async () => (await node(cluster.client(), name)) === undefined, {
    timeout: 180_000,
    what: `Karpenter to end ${name}`,
    describe: () => scene.describe(),
  });
  await scene.allWell();
  expect(run.attempts).toEqual([name]);
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.remove();
});

test.concurrent('a node in hold-down that Karpenter consolidates is left to Karpenter', async () => {
  const scene = await Scene.make(cluster, { name: 'empty' });
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  await scene.break(name, 'never-ready');
  const run = await runInHoldDown(scene, [victim, witness], async () => {
    // One replica less, and that on the victim, so nothing but the DaemonSet is on it.
    const web = (await scene.webPods()).find(({ spec }) => spec.nodeName === name);
    const costs = 'controller.kubernetes.io/pod-deletion-cost=-1';
    const pod = web?.metadata.name ?? 'none';
    await cluster.kubectl(['-n', scene.namespace, 'annotate', 'pod', pod, costs]);
    await cluster.kubectl(['-n', scene.namespace, 'scale', 'deployment/web', '--replicas=3']);
    await consolidateAtOnce(scene);
  });
  const ended = only(run.ended);
  expect(leftToKarpenter).toContain(ended.code);
  expect(await consolidationsOf(victim)).toBe(1);
  expect(ended.tasks).not.toContain('DrainNode');
  expect(run.slots).toEqual([]);
  expect(drained(run)).toEqual([]);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([]);
  await waitFor(async () => (await node(cluster.client(), name)) === undefined, {
    timeout: 180_000,
    what: `Karpenter to end ${name}`,
    describe: () => scene.describe(),
  });
  // Nobody brought another for it, and nodegap began nothing else.
  const own = run.nodesBefore.filter(
    ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === scene.name,
  );
  const left = own.map(({ metadata }) => metadata.uid).filter((of) => of !== uid);
  const now = (await scene.nodes()).map(({ metadata }) => metadata.uid);
  expect(now.sort()).toEqual(left.sort());
  expect(run.attempts).toEqual([name]);
  for (const { metadata } of own.filter((of) => of.metadata.uid !== uid)) {
    expect((await scene.node(metadata.name)).spec.unschedulable).toBeUndefined();
  }
  await scene.remove();
});

test.concurrent('a node that the drain empties has one replacement, also where Karpenter consolidates at once', async () => {
  const scene = await Scene.make(cluster, { name: 'emptied' });
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  const before = (await scene.nodes()).map(({ metadata }) => metadata.uid);
  await scene.break(name, 'never-ready');
  await consolidateAtOnce(scene);
  const run = await scene.run({
    nodes: [name],
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
  });
  const ended = only(run.ended);
  // Whoever is first: nodegap asks for the deletion once, or stands back.
  const deletions = run.writes.filter(({ verb }) => verb === 'delete');
  const consolidations = await consolidationsOf(victim);
  if (ended.code === 'replaced') {
    expect(deletions).toHaveLength(1);
    expect(consolidations).toBe(0);
  } else {
    expect(leftToKarpenter).toContain(ended.code);
    expect(deletions).toEqual([]);
    expect(consolidations).toBe(1);
  }
  expect(drained(run)).toHaveLength(1);
  await scene.allWell();
  const now = (await scene.nodes()).map(({ metadata }) => metadata.uid);
  expect(now.filter((of) => !before.includes(of))).toHaveLength(1);
  expect(before.filter((of) => !now.includes(of))).toEqual([uid]);
  expect(run.attempts).toEqual([name]);
  expect(run.slots).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.remove();
});
