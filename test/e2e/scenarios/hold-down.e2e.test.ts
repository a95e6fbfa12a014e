/** Faults that go away by themselves, or by what nodegap tries first. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';
import { only, Scene, statesOf, wideBreaker } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { markOf, shapeOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});
afterAll(() => cluster?.stop());

test.concurrent('a gap that heals in hold-down ends with the node as it was', async () => {
  const scene = await Scene.make(cluster, { name: 'heals' });
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  await scene.break(name, 'never-ready');
  const run = await scene.run({
    nodes: [name],
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (seen) => {
      await waitFor(
        () => seen.changes.some(({ object }) => object.metadata.uid === uid && markOf(object)),
        { timeout: 120_000, what: `${name} to be isolated` },
      );
      await scene.heal(name);
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'recovered', cause: 'not-ready' });
  expect(statesOf(run, uid).some(({ spec }) => spec.unschedulable)).toBe(true);
  expect(shapeOf(await scene.node(name))).toEqual(shapeOf(victim));
  expect((await scene.eventsOn(victim)).map(({ reason }) => reason)).toContain('NodegapRecovered');
  await scene.expectOnlyWrittenTo(run, [name]);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([]);
  await scene.remove();
});

test.concurrent('a restart of the pod cures, and nothing is drained', async () => {
  const scene = await Scene.make(cluster, { name: 'restart' });
  const [victim, witness] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  await scene.break(name, 'crash-loop', { until: 'restart' });
  const [sick] = await scene.agentOn(name);
  const run = await scene.run({
    nodes: [name],
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
  });
  expect(only(run.ended)).toMatchObject({ code: 'recovered', cause: 'crash-loop' });
  // By eviction, and of that one pod.
  const evicted = run.writes.filter(({ subresource }) => subresource === 'eviction');
  expect(evicted.map((entry) => [entry.name, entry.code])).toEqual([[sick?.metadata.name, 201]]);
  expect(shapeOf(await scene.node(name))).toEqual(shapeOf(victim));
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.remove();
});
