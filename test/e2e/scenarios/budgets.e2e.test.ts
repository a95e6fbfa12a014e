/** PodDisruptionBudgets in the way of a drain: that free, that never do, and two over one pod. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import { ApiError } from '../harness/client.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyPdb } from '../harness/objects.ts';
import {
  asked,
  deletionsIn,
  drainSoon,
  evictionsOf,
  expectEvicted,
  expectHeld,
  noticesOf,
  told,
  webOn,
} from '../support/drains.ts';
import { only, Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { lowestAvailability } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});
afterAll(() => cluster?.stop());

/** A scene whose workload may lose no pod, with a sick node. */
async function guarded(name: string, pool: { terminationGracePeriod?: string } = {}) {
  const scene = await Scene.make(cluster, { name, pool });
  const [victim] = await scene.victimAndWitness();
  const budget = { name: 'all', namespace: scene.namespace, app: 'web', minAvailable: 4 };
  await applyPdb(cluster.client(), budget);
  const pod = await webOn(scene, victim.metadata.name);
  await scene.break(victim.metadata.name, 'sandbox');
  return { scene, victim, pod, node: victim.metadata.name };
}

/** What is said of the pod, on the node and to people. */
const namesBudget = (pod: string) =>
  new RegExp(
    `${pod} \\(PodDisruptionBudget \\S+/all allows 0 disruptions \\(4 healthy, 4 needed\\), since \\d{4}-\\S+Z\\)`,
  );

async function expectReplaced(scene: Scene, victim: Node): Promise<void> {
  const there = (await scene.nodes()).map(({ metadata }) => metadata.uid);
  expect(there).not.toContain(victim.metadata.uid);
}

test.concurrent('a budget that is used up holds a drain, which goes on when it frees', async () => {
  const { scene, victim, pod, node } = await guarded('frees');
  const run = await scene.run({
    nodes: [node],
    config: drainSoon(),
    meanwhile: async () => {
      // Long before anybody is asked, the node says who holds it up.
      await told(scene, victim, 'NodegapDraining', namesBudget(pod.metadata.name));
      await expectHeld(scene, node, [pod]);
      await cluster.kubectl(['-n', 'frees', 'scale', 'deployment/web', '--replicas=5']);
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced', cause: 'sandbox' });
  const codes = evictionsOf(run, pod).map(({ code }) => code);
  expect(codes).toContain(429);
  expectEvicted(run, pod);
  const own = run.podChanges.filter(({ object }) => object.metadata.namespace === 'frees');
  expect(lowestAvailability(own, ['web'])).toBe(4);
  await expectReplaced(scene, victim);
  expect(noticesOf(run, 'approval')).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [node]);
});

test.concurrent('a budget that never frees: named, and nothing is destroyed when nobody answers', async () => {
  const { scene, victim, pod, node } = await guarded('held');
  const run = await scene.run({
    nodes: [node],
    config: drainSoon({ drain: 8, approval: 15 }),
    meanwhile: async (_seen, operator) => {
      const { question, facts } = await asked(operator, node);
      expect(question).toBe('drain-blocked');
      expect(facts.drain).toMatch(namesBudget(pod.metadata.name));
      expect(facts.budgets.join()).toContain('held/all');
      expect(facts.answers.map(({ answer }) => answer)).toEqual(['retry', 'proceed', 'release']);
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'drain-blocked' });
  expect(new Set(evictionsOf(run, pod).map(({ code }) => code))).toEqual(new Set([429]));
  expect(deletionsIn(run)).toEqual([]);
  await expectHeld(scene, node, [pod]);
  expect(noticesOf(run, 'approval').join()).toMatch(namesBudget(pod.metadata.name));
  await told(scene, victim, 'NodegapDrainBlocked', namesBudget(pod.metadata.name));
  expect(run.attempts).toEqual([node]);
  expect(run.slots).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [node]);
});

test.concurrent('a person says proceed: the rest of the drain is Karpenter’s, and nodegap evicts nothing', async () => {
  const { scene, victim, pod, node } = await guarded('proceed', { terminationGracePeriod: '8s' });
  const claim = (await scene.claimOf(node)).metadata.name;
  const run = await scene.run({
    nodes: [node],
    config: drainSoon({ drain: 6 }),
    meanwhile: async (_seen, operator) => {
      const { id } = await asked(operator, node);
      await expectHeld(scene, node, [pod]);
      expect(await operator.decide(id, 'proceed')).toMatchObject({ kind: 'decided' });
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced' });
  expect(new Set(evictionsOf(run, pod).map(({ code }) => code))).toEqual(new Set([429]));
  expect(deletionsIn(run)).toEqual([`nodeclaims ${claim}`]);
  await expectReplaced(scene, victim);
  await scene.expectOnlyWrittenTo(run, [node]);
});

test.concurrent('two budgets over one pod: both named at once, and retried when a person says so', async () => {
  const { scene, victim, pod, node } = await guarded('twice');
  const client = cluster.client();
  await applyPdb(client, { name: 'second', namespace: 'twice', app: 'web', maxUnavailable: 1 });
  // What makes it hopeless: whatever the budgets allow, the API server answers 500.
  const refusal = client.create(
    `/api/v1/namespaces/twice/pods/${pod.metadata.name}/eviction?dryRun=All`,
    {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: pod.metadata.name, namespace: 'twice' },
    },
  );
  await expect(refusal).rejects.toThrow(ApiError);
  await expect(refusal).rejects.toMatchObject({ status: 500 });
  const run = await scene.run({
    nodes: [node],
    // The time of the drain is three minutes: it is not waited for.
    config: drainSoon(),
    meanwhile: async (_seen, operator) => {
      const { id, facts } = await asked(operator, node);
      expect(facts.drain).toContain('twice/all and twice/second');
      await expectHeld(scene, node, [pod]);
      await told(scene, victim, 'NodegapDrainBlocked', /twice\/all and twice\/second/);
      await cluster.kubectl(['-n', 'twice', 'delete', 'pdb', 'all']);
      expect(await operator.decide(id, 'retry')).toMatchObject({ kind: 'decided' });
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced' });
  // Only once one budget was left.
  expect(evictionsOf(run, pod).map(({ code }) => code)).not.toContain(500);
  expectEvicted(run, pod);
  await expectReplaced(scene, victim);
  await scene.expectOnlyWrittenTo(run, [node]);
});
