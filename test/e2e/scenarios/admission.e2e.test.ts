/** Nodes that the real Karpenter makes with startup taints, and nodegap that admits them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { conditionOf, type KubernetesEvent, type Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';
import type { Ended } from '../support/operator.ts';
import { Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import {
  admitting,
  bears,
  expectOnlyTakenOff,
  initializedLabel,
  isLabelled,
  nodeOf,
  ofAgent,
  ownTaint,
  putBack,
  registeredLabel,
  scaleWorkload,
  soak,
  statesIn,
  takenIn,
  untaint,
} from '../support/startup.ts';
import { makeWriters } from '../support/taint-writers.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

const isRegistered = (node: Node) => isLabelled(node, registeredLabel);

test.concurrent('workload comes when the DaemonSet has been Ready for the soak, and taints of others are left to them', async () => {
  const name = 'waits';
  const own = ownTaint(name);
  const pool = { startupTaints: [own, ofAgent] };
  const scene = await Scene.make(cluster, { name, nodes: 0, pool });
  const everywhere = { node: '*', daemonSet: scene.daemonSet };
  await cluster.injector.set(everywhere, 'never-ready');
  await scaleWorkload(scene, 1);
  let node: Node | undefined;
  const run = await scene.run({
    config: admitting(scene),
    nodes: [],
    meanwhile: async (_seen, operator) => {
      node = await nodeOf(scene, 'to be registered', isRegistered);
      const { name: of } = node.metadata;
      await operator.morePasses(2);
      expect((await scene.node(of)).spec.taints).toEqual([own, ofAgent]);
      await cluster.injector.unset(everywhere);
      await nodeOf(scene, 'without its own taint', (found) => !bears(found, own));
      await operator.morePasses(2);
      const proved = await scene.node(of);
      expect(proved.spec.taints).toEqual([ofAgent]);
      expect(isLabelled(proved, initializedLabel)).toBe(false);
      expect((await scene.webPods()).map(({ spec }) => spec.nodeName)).toEqual([undefined]);
      await untaint(scene, proved, ofAgent);
      await takenIn(scene, 1, [own, ofAgent]);
    },
  });
  if (node === undefined) throw new Error('no node');
  expect(expectOnlyTakenOff(run, node, own)).toBe(1);
  const states = statesIn({ changes: run.nodeChanges }, node);
  const off = states.findIndex((state) => isRegistered(state) && !bears(state, own));
  const [agent] = await scene.agentOn(node.metadata.name);
  const mark = JSON.parse(states[off]?.metadata.annotations?.['nodegap.dev/admitted'] ?? '{}');
  const readyAt = conditionOf(agent?.status.conditions, 'Ready')?.lastTransitionTime ?? '';
  expect(Date.parse(mark.names[name])).toBeGreaterThanOrEqual(Date.parse(readyAt) + soak * 1000);
  const clean = states.find((state) => isRegistered(state) && !bears(state, ofAgent));
  const bound = run.podChanges.find(
    ({ object }) =>
      object.metadata.labels?.app === 'web' &&
      object.metadata.namespace === name &&
      object.spec.nodeName !== undefined,
  );
  expect(bound?.revision).toBeGreaterThan(Number(clean?.metadata.resourceVersion));
  await scene.expectOnlyWrittenTo(run, [node.metadata.name]);
});

test.concurrent('a node that never proves itself is handed to remediate-node, and its replacement is admitted', async () => {
  const name = 'overdue';
  const own = ownTaint(name);
  const pool = { startupTaints: [own] };
  const scene = await Scene.make(cluster, { name, nodes: 0, pool });
  await scaleWorkload(scene, 3);
  let bad: Node | undefined;
  let ended: Ended | undefined;
  let told: KubernetesEvent[] = [];
  const run = await scene.run({
    config: admitting(scene, {
      // Long enough in hold-down that the next pass finds it overdue and still there.
      timings: { nodeGrace: 30, startupDeadline: 45, holdDown: 20 },
    }),
    nodes: [],
    meanwhile: async (_seen, operator) => {
      const well = await takenIn(scene, 3, [own]);
      const known = well.map(({ metadata }) => metadata.uid);
      const everywhere = { node: '*', daemonSet: scene.daemonSet };
      await cluster.injector.set(everywhere, 'never-ready', { from: 'next' });
      await scaleWorkload(scene, 4);
      bad = await nodeOf(scene, 'that is new', ({ metadata }) => !known.includes(metadata.uid));
      await cluster.injector.set({ ...everywhere, node: bad.metadata.name }, 'never-ready');
      await cluster.injector.unset(everywhere);
      ended = await operator.outcomeOf(bad.metadata.name);
      told = await scene.eventsOn(bad);
      await takenIn(scene, 4, [own]);
    },
  });
  if (bad === undefined) throw new Error('no node');
  expect(ended).toMatchObject({ code: 'replaced', cause: 'not-ready' });
  const why = told.find(({ reason }) => reason === 'NodegapStartupOverdue');
  expect(why?.message).toContain(`${own.key}: the pod of ${scene.daemonSet} is not Ready`);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toHaveLength(1);
  expect(run.slots).toEqual([]);
});

test.concurrent('others who write taints of the same node lose none, and get none back', async () => {
  const name = 'crowd';
  const own = ownTaint(name);
  // Nobody takes the taint of the agent off, so the node stays one that is being set up.
  const pool = { startupTaints: [own, ofAgent] };
  const scene = await Scene.make(cluster, { name, nodes: 0, pool });
  await scaleWorkload(scene, 1);
  const writers = makeWriters(4, 400);
  let node: Node | undefined;
  const run = await scene.run({
    config: admitting(scene),
    nodes: [],
    meanwhile: async () => {
      node = await nodeOf(scene, 'without its own taint', (found) => {
        return isRegistered(found) && !bears(found, own);
      });
      const client = cluster.client();
      const { name: of } = node.metadata;
      const writing = writers.map((writer) => writer.run(client, of));
      const met = () => scene.actuator.audit().some(({ code }) => code === 409 || code === 422);
      try {
        for (let round = 0; round < 3 || !met(); round += 1) {
          await putBack(client, of, own);
          await nodeOf(scene, 'without the taint again', (found) => {
            return found.metadata.name === of && !bears(found, own);
          });
        }
      } finally {
        for (const writer of writers) writer.stop();
        await Promise.all(writing);
      }
    },
  });
  if (node === undefined) throw new Error('no node');
  expect(expectOnlyTakenOff(run, node, own)).toBeGreaterThanOrEqual(4);
  const end = await scene.node(node.metadata.name);
  for (const writer of writers) {
    writer.check(end);
    expect(writer.losses).toEqual([]);
    expect(writer.wrote).toBeGreaterThan(10);
  }
  expect(bears(end, ofAgent)).toBe(true);
});

test.concurrent('executions that are killed, started again and doubled come to the same end', async () => {
  const name = 'doubled';
  const own = ownTaint(name);
  const scene = await Scene.make(cluster, { name, nodes: 0, pool: { startupTaints: [own] } });
  const everywhere = { node: '*', daemonSet: scene.daemonSet };
  await cluster.injector.set(everywhere, 'never-ready');
  await scaleWorkload(scene, 3);
  let admitted: Node[] = [];
  const run = await scene.run({
    config: admitting(scene),
    nodes: [],
    meanwhile: async (_seen, operator) => {
      await nodeOf(scene, 'to be registered', isRegistered);
      await operator.morePasses(1);
      const [first] = operator.admitting().values();
      await operator.killAdmissions();
      await cluster.injector.unset(everywhere);
      // Its lease runs out, and a scan starts the next one.
      await waitFor(() => operator.admitting().size > 0, {
        timeout: 300_000,
        what: 'admit-nodes to be started again',
        describe: () => operator.trace(),
      });
      await operator.doubleAdmission();
      admitted = await takenIn(scene, 3, [own]);
      await operator.morePasses(4);
      const second = (first ?? 0) + 1;
      expect([...operator.admitting().values()]).toEqual([second, second]);
    },
  });
  for (const node of admitted) {
    expect(expectOnlyTakenOff(run, node, own)).toBe(1);
    expect(bears(await scene.node(node.metadata.name), own)).toBe(false);
  }
  await scene.expectOnlyWrittenTo(
    run,
    admitted.map(({ metadata }) => metadata.name),
  );
});
