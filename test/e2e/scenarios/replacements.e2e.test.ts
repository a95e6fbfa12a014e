/**
 * Replacements that do not come, or come up no better. The pools are in zones of their own, lest the
 * breaker of a zone counts the nodes of another scene.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { node } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { Operator } from '../support/operator.ts';
import { only, Scene, wideBreaker } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { markOf, shapeOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

const poolPath = (scene: Scene) => `/apis/karpenter.sh/v1/nodepools/${scene.name}`;

/** Waits until an attempt on the node has ended, and gives its code. */
async function codeOn(operator: Operator, { metadata }: Node): Promise<string> {
  return (await operator.outcomeOf(metadata.name)).code;
}

test.concurrent('a NodePool at its limit: a node that does not come is told, and the second one stops the pool', async () => {
  const scene = await Scene.make(cluster, {
    name: 'short',
    nodes: 6,
    pool: { zone: 'test-zone-b' },
  });
  const [first, second, third] = (await scene.nodes()) as [Node, Node, Node];
  const [, witness] = await scene.victimAndWitness();
  await cluster.client().patch(poolPath(scene), { spec: { limits: { nodes: '1' } } });
  await scene.break(first.metadata.name, 'never-ready');
  const codes: string[] = [];
  const run = await scene.run({
    nodes: [first.metadata.name],
    config: {
      timings: { verification: 15 },
      breaker: wideBreaker,
    },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      codes.push(await codeOn(operator, first));
      await scene.break(second.metadata.name, 'sandbox');
      await operator.moreScans(5);
      await scene.witness(witness.metadata.name);
      codes.push(await codeOn(operator, second));
      await scene.break(third.metadata.name, 'volume');
      await operator.moreScans(5);
      await scene.witness(witness.metadata.name);
      await sleep(15_000);
      await operator.moreScans(3);
      await operator.request(third);
      codes.push(await codeOn(operator, third));
    },
  });
  expect(codes).toEqual(['verification-timed-out', 'verification-timed-out', 'bad-replacements']);
  expect(only(run.ended).message).toMatch(/have no node: short\/web-\S+ \(.*exceed limits/);
  const alert = run.notices.find(
    ({ node: of, kind }) => of === first.metadata.name && kind === 'alert',
  );
  expect(alert?.body).toContain('exceed limits');
  // Once each: nothing is tried again for a node that is gone.
  const worked = [first, second].map(({ metadata }) => metadata.name);
  expect(run.attempts.filter((of) => of !== third.metadata.name)).toEqual(worked);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toHaveLength(2);
  expect(shapeOf(await scene.node(third.metadata.name))).toEqual(shapeOf(third));
  const reasons = (await scene.eventsOn(third)).map(({ reason }) => reason);
  expect(reasons).toContain('NodegapBadReplacements');
  expect(run.slots).toEqual([]);
  await scene.expectOnlyWrittenTo(run, worked);
  await scene.remove();
});

test.concurrent('a replacement that comes up with the same gap turns the blame to the DaemonSet', async () => {
  const scene = await Scene.make(cluster, {
    name: 'worse',
    // Later than the deletion of the old one, lest the two fail alike before that.
    pool: { zone: 'test-zone-c', registrationDelay: '10s' },
  });
  const [victim, witness] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  // Those that are there stay well, and every new node is as bad as the victim.
  for (const { metadata } of await scene.nodes()) {
    const pair = { node: metadata.name, daemonSet: scene.daemonSet };
    await cluster.injector.set(pair, 'ready');
  }
  await cluster.injector.set({ node: '*', daemonSet: scene.daemonSet }, 'never-ready');
  await scene.break(name, 'never-ready');
  const before = (await scene.nodes()).map(({ metadata }) => metadata.uid);
  let successor: Node | undefined;
  let tasks: string[] = [];
  const run = await scene.run({
    nodes: [name],
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      await codeOn(operator, victim);
      successor = (await scene.nodes()).find(({ metadata }) => !before.includes(metadata.uid));
      // A witness on an old node would speak against the new one, had nothing been learned.
      await scene.witness(witness.metadata.name);
      await sleep(20_000);
      await operator.moreScans(3);
      tasks = operator.events
        .filter(({ input, type }) => input.node !== name && type === 'Task')
        .map(({ state }) => state);
    },
  });
  const ended = only(run.ended);
  expect(ended).toMatchObject({ code: 'bad-replacement', blame: 'node' });
  if (successor === undefined) throw new Error(await scene.describe());
  expect(ended.message).toContain(successor.metadata.name);
  // The new node is as it came, though it has the gap, and so are all others.
  // The scan may have begun with it in the very moment of the verdict.
  expect(tasks).not.toContain('IsolateNode');
  expect(markOf(await scene.node(successor.metadata.name))).toBeUndefined();
  expect((await scene.node(successor.metadata.name)).spec.unschedulable).toBeUndefined();
  expect(await node(cluster.client(), name)).toBeUndefined();
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toHaveLength(1);
  const alert = run.notices.find((notice) => notice.node === name && notice.kind === 'alert');
  expect(alert?.body).toContain(scene.daemonSet);
  expect(run.slots).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
  await cluster.injector.unset({ node: '*', daemonSet: scene.daemonSet });
  await waitFor(async () => (await scene.nodes()).length === 4, {
    timeout: 180_000,
    what: 'the nodes of worse',
  });
  await scene.allWell();
  await scene.remove();
});
