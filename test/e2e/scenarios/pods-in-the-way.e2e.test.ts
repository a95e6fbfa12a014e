/** Pods that a drain must not, may not or cannot take away as it takes others. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { pods } from '../harness/state.ts';
import { gather } from '../support/crowd.ts';
import { mountDisk } from '../support/disk.ts';
import {
  asked,
  deletionsIn,
  drainSoon,
  evictionsOf,
  expectAsBefore,
  expectEvicted,
  expectHeld,
  noticesOf,
  podsOn,
  told,
  webOn,
} from '../support/drains.ts';
import { only, Scene, statesOf } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { deletionAsked, goneAt } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});
afterAll(() => cluster?.stop());

const nameOf = ({ metadata }: Pod) => `${metadata.namespace}/${metadata.name}`;
const podPath = ({ metadata }: Pod) =>
  `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

test.concurrent('a pod that does not end although it was evicted: named, with what holds it', async () => {
  const scene = await Scene.make(cluster, {
    name: 'stuck',
    workload: { terminationGracePeriodSeconds: 1 },
  });
  const [victim] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  const pod = await webOn(scene, name);
  // The fake kubelet leaves it alone, too: it would take every finalizer off.
  await cluster.client().patch(podPath(pod), {
    metadata: {
      finalizers: ['storage.example/flush'],
      annotations: { 'nodegap-test/outcome': 'stuck-terminating' },
    },
  });
  await scene.break(name, 'sandbox');
  const run = await scene.run({
    nodes: [name],
    config: drainSoon({ drain: 5 }),
    meanwhile: async (_seen, operator) => {
      const { id, facts } = await asked(operator, name);
      expect(facts.drain).toMatch(
        new RegExp(`${nameOf(pod)} \\(should have ended by .*finalizers storage.example/flush`),
      );
      await expectHeld(scene, name, []);
      await told(scene, victim, 'NodegapDrainBlocked', /storage\.example\/flush/);
      // Whoever put it there takes it off.
      await cluster.client().patch(podPath(pod), {
        metadata: { finalizers: null, annotations: { 'nodegap-test/outcome': 'ready' } },
      });
      expect(await operator.decide(id, 'retry')).toMatchObject({ kind: 'decided' });
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced' });
  expectEvicted(run, pod);
  await scene.expectOnlyWrittenTo(run, [name]);
});

test.concurrent('pods that need a person: each is named, the others leave, and a release undoes it all', async () => {
  const scene = await Scene.make(cluster, { name: 'asks' });
  const [victim] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  const crowd = await gather(scene, victim);
  // Karpenter's word to itself about the node is no veto of repair.
  await cluster.kubectl(['annotate', 'node', name, 'karpenter.sh/do-not-disrupt=true']);
  const before = await scene.node(name);
  await scene.break(name, 'sandbox');
  const needy = [crowd.pinned, crowd.unsafe, crowd.cache, crowd.bare];
  const left = [...needy, crowd.mirror, crowd.finished, crowd.logs];
  const run = await scene.run({
    nodes: [name],
    config: drainSoon({}, { barePods: 'ask', emptyDir: 'ask' }),
    meanwhile: async (_seen, operator) => {
      const { id, facts } = await asked(operator, name);
      const why = (pod: Pod) =>
        facts.pods?.needsApproval.first.find((each) => each.pod === nameOf(pod))?.why;
      expect(why(crowd.pinned)).toContain('karpenter.sh/do-not-disrupt=true');
      expect(why(crowd.unsafe)).toContain('safe-to-evict=false');
      expect(why(crowd.cache)).toContain('emptyDir volumes scratch');
      expect(why(crowd.bare)).toContain('has no controller');
      expect(facts.pods?.needsApproval.count).toBe(needy.length);
      const skipped = facts.pods?.skip.first.map(({ pod }) => pod) ?? [];
      for (const pod of [crowd.mirror, crowd.finished, crowd.logs]) {
        expect(skipped).toContain(nameOf(pod));
      }
      await expectHeld(scene, name, left);
      expect(await operator.decide(id, 'release')).toMatchObject({ kind: 'decided' });
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'released-by-person' });
  expectEvicted(run, crowd.web);
  const uids = (await podsOn(scene, name)).map(({ metadata }) => metadata.uid);
  for (const pod of left) {
    expect(evictionsOf(run, pod), pod.metadata.name).toEqual([]);
    expect(uids).toContain(pod.metadata.uid);
  }
  expect(deletionsIn(run)).toEqual([]);
  for (const pod of needy) expect(noticesOf(run, 'approval').join()).toContain(nameOf(pod));
  await expectAsBefore(scene, before);
  expect((await scene.claimOf(name)).metadata.deletionTimestamp).toBeUndefined();
  // A day of rest.
  expect(run.attempts).toEqual([name]);
  await scene.expectOnlyWrittenTo(run, [name]);
});

test.concurrent('pods that may go by configuration or a person’s consent go by eviction, none by deletion', async () => {
  const scene = await Scene.make(cluster, { name: 'consents' });
  const [victim] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  const crowd = await gather(scene, victim);
  const claim = await scene.claimOf(name);
  await scene.break(name, 'sandbox');
  const run = await scene.run({
    nodes: [name],
    config: drainSoon({}, { barePods: 'evict', emptyDir: 'evict' }),
    meanwhile: async (_seen, operator) => {
      const { id } = await asked(operator, name);
      await expectHeld(scene, name, [crowd.pinned, crowd.unsafe]);
      await told(scene, victim, 'NodegapEvictedWithLoss', /consents\/bare \(has no controller/);
      expect(await operator.decide(id, 'retry')).toMatchObject({ kind: 'decided' });
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced' });
  const claimDeletion = deletionAsked(run.claimChanges, claim.metadata.uid) ?? 0;
  for (const pod of [crowd.web, crowd.cache, crowd.bare, crowd.pinned, crowd.unsafe]) {
    expectEvicted(run, pod);
    expect(goneAt(run.podChanges, pod.metadata.uid)).toBeLessThan(claimDeletion);
  }
  for (const pod of [crowd.mirror, crowd.finished, crowd.logs]) {
    expect(evictionsOf(run, pod), pod.metadata.name).toEqual([]);
  }
  expect(deletionsIn(run)).toEqual([`nodeclaims ${claim.metadata.name}`]);
  await told(scene, victim, 'NodegapEvictedWithLoss', /consents\/cache\S+ \(the data in its/);
  await scene.expectOnlyWrittenTo(run, [name]);
});

test.concurrent('a finalizer of somebody else on the node: told, and nothing is forced', async () => {
  const scene = await Scene.make(cluster, { name: 'finalizer' });
  const [victim] = await scene.victimAndWitness();
  const { name, finalizers = [] } = victim.metadata;
  const claim = (await scene.claimOf(name)).metadata.name;
  const path = `/api/v1/nodes/${name}`;
  const foreign = 'inventory.example/keep';
  await cluster
    .client()
    .patch(path, { metadata: { finalizers: [...finalizers, foreign] } }, 'merge');
  await scene.break(name, 'sandbox');
  const run = await scene.run({
    nodes: [name],
    config: drainSoon({ verification: 40 }),
  });
  const ended = only(run.ended);
  expect(ended).toMatchObject({ code: 'deletion-stuck' });
  expect(ended.message).toContain(foreign);
  expect(noticesOf(run, 'alert').join()).toContain(foreign);
  // Asked for once, and the finalizer is still there.
  expect(deletionsIn(run)).toEqual([`nodeclaims ${claim}`]);
  const left = await scene.node(name);
  expect(left.metadata.deletionTimestamp).toBeDefined();
  expect(left.metadata.finalizers).toContain(foreign);
  await scene.expectOnlyWrittenTo(run, [name]);
  await cluster.client().patch(path, { metadata: { finalizers: null } });
  await scene.allWell();
});

test.concurrent('a StatefulSet with a disk: the node is ended only when the disk is detached', async () => {
  const scene = await Scene.make(cluster, { name: 'disk' });
  const disk = await mountDisk(scene);
  const { name, uid } = disk.node.metadata;
  const claim = await scene.claimOf(name);
  const dbs = await pods(cluster.client(), 'disk', 'db');
  await scene.break(name, 'sandbox');
  const run = await scene.run({
    nodes: [name],
    config: drainSoon({ volumes: 3_600 }),
    meanwhile: async () => {
      await told(scene, disk.node, 'NodegapVolumesAttached', new RegExp(disk.volume));
      // The pods have left, the controller wants it detached, and the driver has not done so yet.
      expect((await podsOn(scene, name)).map(({ metadata }) => metadata.labels?.app)).toEqual([
        'agent',
      ]);
      expect((await scene.claimOf(name)).metadata.deletionTimestamp).toBeUndefined();
      await disk.detached(name);
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced' });
  expectEvicted(run, only(dbs));
  expect(deletionsIn(run)).toEqual([`nodeclaims ${claim.metadata.name}`]);
  // It is free for the node where its pod is now.
  const after = await pods(cluster.client(), 'disk', 'db');
  expect(after.map(({ spec }) => spec.nodeName)).not.toContain(name);
  expect((await disk.attachments()).map(({ spec }) => spec.nodeName)).not.toContain(name);
  expect(statesOf(run, uid).some(({ spec }) => spec.unschedulable)).toBe(true);
  await scene.expectOnlyWrittenTo(run, [name]);
});
