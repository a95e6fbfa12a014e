/** People and their tools who work on a node at the same time, and whose word counts more. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyPdb } from '../harness/objects.ts';
import { isReady } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import {
  asked,
  deletionsIn,
  drainSoon,
  evictionsOf,
  expectAsBefore,
  expectHeld,
  podsOn,
  told,
  webOn,
} from '../support/drains.ts';
import { only, Scene, statesOf } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { makeWriters } from '../support/taint-writers.ts';
import { hasOwnTaint, markOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});
afterAll(() => cluster?.stop());

/** Lets no pod of the workload go. */
async function guard({ namespace }: Scene): Promise<void> {
  await applyPdb(cluster.client(), { name: 'all', namespace, app: 'web', minAvailable: 4 });
}

async function isolated(scene: Scene, name: string): Promise<void> {
  await waitFor(async () => markOf(await scene.node(name)) !== undefined, {
    timeout: 120_000,
    what: `${name} to be isolated`,
  });
}

test.concurrent('who uncordons a node has vetoed it, at once and until its episode closes', async () => {
  const scene = await Scene.make(cluster, { name: 'uncordons' });
  const [victim] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  const before = (await podsOn(scene, name)).map(({ metadata }) => metadata.uid).sort();
  await scene.break(name, 'sandbox');
  const attempts = (of: string[]) => of.filter((node) => node === name).length;
  const run = await scene.run({
    nodes: [name],
    // Long enough for a person, and no part of what is waited for: the veto counts at once.
    config: drainSoon({ holdDown: 600 }),
    meanwhile: async (_seen, operator) => {
      await isolated(scene, name);
      await cluster.kubectl(['uncordon', name]);
      expect(await operator.outcomeOf(name)).toMatchObject({ code: 'human-uncordoned' });
      await expectAsBefore(scene, victim);
      // The fault is still there, and nobody touches the node for it.
      await operator.moreScans(5);
      expect(attempts(operator.attempts())).toBe(1);
      await expectAsBefore(scene, victim);
      await scene.heal(name);
      await waitFor(async () => (await scene.agentOn(name)).every(isReady), {
        timeout: 60_000,
        what: 'the agent to be well',
      });
      // Hold-up is two seconds, and the next scan closes the episode.
      await operator.moreScans(6);
      await scene.break(name, 'sandbox');
      await isolated(scene, name);
      expect(attempts(operator.attempts())).toBe(2);
      await scene.heal(name);
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'human-uncordoned' });
  await told(scene, victim, 'NodegapHumanUncordoned');
  await waitFor(async () => markOf(await scene.node(name)) === undefined, {
    timeout: 60_000,
    what: 'the second isolation to be undone',
  });
  await expectAsBefore(scene, victim);
  expect(statesOf(run, uid).some(hasOwnTaint)).toBe(true);
  expect(deletionsIn(run)).toEqual([]);
  expect((await podsOn(scene, name)).map(({ metadata }) => metadata.uid).sort()).toEqual(before);
  await scene.expectOnlyWrittenTo(run, [name]);
});

test.concurrent('a node that a person cordoned before and takes for himself under way: only what was nodegap’s is undone', async () => {
  const scene = await Scene.make(cluster, { name: 'skips' });
  const [victim] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  const pod = await webOn(scene, name);
  await guard(scene);
  await cluster.kubectl(['cordon', name]);
  // The node controller follows with a taint.
  const before = await waitFor(
    async () => {
      const found = await scene.node(name);
      return found.spec.taints?.length === 1 && found;
    },
    { timeout: 60_000, what: `the taint of the cordon on ${name}` },
  );
  await scene.break(name, 'sandbox');
  const run = await scene.run({
    nodes: [name],
    config: drainSoon(),
    meanwhile: async () => {
      await told(scene, victim, 'NodegapDraining', /skips\/all/);
      const held = await scene.node(name);
      expect(markOf(held)).toMatchObject({ cordoned: false, tainted: true });
      await cluster.kubectl(['annotate', 'node', name, 'nodegap.dev/skip=mine until Friday']);
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'skip' });
  const after = await scene.node(name);
  expect(after.spec).toEqual(before.spec);
  expect(after.spec.unschedulable).toBe(true);
  expect(markOf(after)).toBeUndefined();
  await told(scene, victim, 'NodegapSkip', /mine until Friday/);
  expect(run.attempts).toEqual([name]);
  expect(evictionsOf(run, pod).map(({ code }) => code)).not.toContain(201);
  expect(deletionsIn(run)).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
});

test.concurrent('others who write taints during a whole attempt lose none, nor does nodegap', async () => {
  const writers = makeWriters(4);
  const scene = await Scene.make(cluster, {
    name: 'writers',
    // It tolerates the others' taints, which would else end the gap, and not nodegap's own.
    daemonSet: {
      tolerations: writers.map(({ taint }) => ({ key: taint.key, operator: 'Exists' })),
    },
  });
  const [victim] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  const pod = await webOn(scene, name);
  await guard(scene);
  await scene.break(name, 'sandbox');
  const writing = Promise.all(writers.map((writer) => writer.run(cluster.client(), name)));
  const run = await scene
    .run({
      nodes: [name],
      config: drainSoon({ drain: 6 }),
      meanwhile: async (_seen, operator) => {
        const { id } = await asked(operator, name);
        await expectHeld(scene, name, [pod]);
        expect(await operator.decide(id, 'release')).toMatchObject({ kind: 'decided' });
      },
    })
    .finally(async () => {
      for (const writer of writers) writer.stop();
      await writing;
    });
  expect(only(run.ended)).toMatchObject({ code: 'released-by-person', cause: 'sandbox' });
  const cordonTaint = 'node.kubernetes.io/unschedulable';
  const end = await waitFor(
    async () => {
      const found = await scene.node(name);
      return found.spec.taints?.every(({ key }) => key !== cordonTaint) !== false && found;
    },
    { timeout: 60_000, what: `${cordonTaint} to go from ${name}` },
  );
  for (const writer of writers) {
    writer.check(end);
    expect(writer.losses).toEqual([]);
    expect(writer.wrote).toBeGreaterThan(10);
  }
  // They did meet: otherwise nothing was proved.
  expect(writers.reduce((sum, { conflicts }) => sum + conflicts, 0)).toBeGreaterThan(0);
  // Cordon, taint and release, each once, whatever came between.
  const patches = run.writes.filter(({ resource }) => resource === 'nodes');
  expect(patches.filter(({ code }) => code === 200)).toHaveLength(3);
  const states = statesOf(run, uid).map((node) => [
    node.spec.unschedulable === true,
    hasOwnTaint(node),
    markOf(node) !== undefined,
  ]);
  const steps = states.filter((state, n) => String(state) !== String(states[n - 1]));
  expect(steps).toEqual([
    [false, false, false],
    [true, false, true],
    [true, true, true],
    [false, false, false],
  ]);
  const theirs = new Set(writers.map(({ taint }) => taint.key));
  const left = { ...end.spec, taints: end.spec.taints?.filter(({ key }) => !theirs.has(key)) };
  expect({ ...left, taints: left.taints ?? [] }).toEqual({ taints: [], ...victim.spec });
  expect(deletionsIn(run)).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
});
