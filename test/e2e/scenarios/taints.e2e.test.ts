/** When nodegap's own taint comes, where it never does, and what taints of others mean. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Detection } from '../../../lib/gap/model.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyDeployment, applyPdb } from '../harness/objects.ts';
import { isReady, nodes, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { only, Scene, statesOf } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import {
  addDaemonSets,
  changesIn,
  evictionsIn,
  readyOn,
  requiring,
  said,
} from '../support/several.ts';
import { hasOwnTaint, markOf, shapeOf } from '../support/traces.ts';

const patience = 180_000;
const roleLabel = 'nodegap-test/role';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});

afterAll(() => cluster?.stop());

test.concurrent('a drain under the cordon alone makes room where it can, and the taint comes where it cannot', async () => {
  const scene = await Scene.make(cluster, { name: 'room', nodes: 4 });
  const roles = ['crowded', 'taken', 'occupied'];
  for (const [index, { metadata }] of (await scene.nodes()).entries()) {
    const role = roles[index] ?? 'well';
    await cluster.kubectl(['label', 'node', metadata.name, `${roleLabel}=${role}`]);
  }
  const [crowded, taken, occupied, well] = (await scene.nodes()) as [Node, Node, Node, Node];
  const client = cluster.client();
  const on = (role: string) => ({ [roleLabel]: role });
  // Whoever is there first stays: nobody has a higher priority. The taint would keep them out.
  const ordinary = { priorityClassName: '', tolerations: [] };
  const { namespace } = scene;
  const hog = { requests: { cpu: '550m' }, nodeSelector: on('crowded') };
  await applyDeployment(client, { name: 'hog', namespace, ...hog });
  await applyDeployment(client, {
    ...{ name: 'squatter', namespace, hostPort: 9100, nodeSelector: on('taken') },
  });
  await addDaemonSets(scene, [
    { name: 'rival', hostPort: 9101, nodeSelector: on('occupied'), ...ordinary },
  ]);
  await readyOn(scene, ['rival'], [occupied]);
  await waitFor(
    async () =>
      (await cluster.kubectl(['-n', namespace, 'get', 'pods', '-o', 'name', ...running])).match(
        /hog|squatter/g,
      )?.length === 2,
    { timeout: patience, what: 'who is in the way to run', describe: () => scene.describe() },
  );
  const names = ['heavy', 'exporter', 'proxy'];
  await addDaemonSets(scene, [
    { name: 'heavy', requests: { cpu: '400m' }, ...ordinary },
    { name: 'exporter', hostPort: 9100, ...ordinary },
    { name: 'proxy', hostPort: 9101, ...ordinary },
  ]);
  await readyOn(scene, names, [well]);
  const victims = [crowded, taken, occupied];
  const run = await scene.run({
    config: requiring(scene, names),
    nodes: victims.map(({ metadata }) => metadata.name),
  });

  const [resources, ports, rival] = run.ended;
  const upToDrain = ['ConfirmGap', 'AcquireSlot', 'IsolateNode', 'CheckRecovery', 'DrainNode'];
  for (const [ended, cause, before, app] of [
    [resources, 'unschedulable-resources', crowded, 'hog'],
    [ports, 'unschedulable-ports', taken, 'squatter'],
  ] as const) {
    expect(ended, ended?.message).toMatchObject({ code: 'recovered', cause, blame: 'node' });
    expect([...new Set(ended?.tasks)]).toEqual([
      ...upToDrain,
      ...['ReleaseNode', 'ReleaseSlot', 'Report'],
    ]);
    const { name, uid } = before.metadata;
    const states = statesOf(run, uid);
    expect(states.some(({ spec }) => spec.unschedulable)).toBe(true);
    expect(states.some(hasOwnTaint)).toBe(false);
    expect(shapeOf(await scene.node(name))).toEqual(shapeOf(before));
    const { ofDaemonSets, ofOthers } = evictionsIn(run, name);
    expect(ofDaemonSets).toEqual([]);
    expect(ofOthers.map(({ metadata }) => metadata.labels?.app).sort()).toEqual([app, 'web']);
  }
  for (const [name, node] of [
    ['heavy', crowded],
    ['exporter', taken],
  ] as const) {
    const pair = { node: node.metadata.name, daemonSet: `${namespace}/${name}` };
    expect((await podsOf(client, pair)).map(isReady)).toEqual([true]);
  }

  expect(rival, rival?.message).toMatchObject({ code: 'replaced', cause: 'unschedulable-ports' });
  expect([...new Set(rival?.tasks)]).toEqual([
    ...upToDrain,
    ...['TaintNode', 'ReplaceNode', 'VerifyReplacement', 'ReleaseSlot', 'Report'],
  ]);
  const states = statesOf(run, occupied.metadata.uid);
  const cordoned = states.find(({ spec }) => spec.unschedulable);
  expect(cordoned && [markOf(cordoned)?.cordoned, hasOwnTaint(cordoned)]).toEqual([true, false]);
  const tainted = states.find(hasOwnTaint);
  const { ofOthers } = evictionsIn(run, occupied.metadata.name);
  const [web] = ofOthers;
  const lastSeen = run.podChanges.findLast(
    ({ object }) => object.metadata.uid === web?.metadata.uid,
  );
  expect(lastSeen?.type).toBe('DELETED');
  expect(Number(tainted?.metadata.resourceVersion)).toBeGreaterThan(lastSeen?.revision ?? Infinity);

  expect(run.slots).toEqual([]);
  await scene.expectOnlyWrittenTo(
    run,
    victims.map(({ metadata }) => metadata.name),
  );
});

const running = ['--field-selector=status.phase=Running'];

test.concurrent('a DaemonSet that the own taint keeps out has not recovered by that', async () => {
  const scene = await Scene.make(cluster, {
    name: 'kept-out',
    nodes: 3,
    daemonSet: { tolerations: [] },
  });
  const [victim] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  await applyPdb(cluster.client(), {
    ...{ name: 'web', namespace: scene.namespace, app: 'web', maxUnavailable: 0 },
  });
  await scene.break(name, 'image-pull');
  let detection: Detection | undefined;
  let meanwhile: Node | undefined;
  const run = await scene.run({
    nodes: [name],
    meanwhile: async (seen, operator) => {
      await waitFor(
        () => seen.changes.some(({ object }) => object.metadata.uid === uid && hasOwnTaint(object)),
        { timeout: patience, what: `${name} to be tainted` },
      );
      // The drain is held by the budget. Now the pod goes, and the taint keeps the next one out.
      const [agent] = await scene.agentOn(name);
      await cluster.kubectl([
        ...['-n', scene.namespace, 'delete', 'pod', agent?.metadata.name ?? ''],
      ]);
      await scene.heal(name);
      await operator.moreScans(5);
      detection = await operator.detection();
      meanwhile = await scene.node(name);
      await cluster.kubectl(['-n', scene.namespace, 'delete', 'pdb', 'web']);
    },
  });
  expect(detection?.gaps).toEqual([
    expect.objectContaining({ node: name, cause: 'untolerated-taint' }),
  ]);
  expect(detection?.gaps[0]?.message).toContain('nodegap.dev/daemonset-gap');
  expect(meanwhile && hasOwnTaint(meanwhile)).toBe(true);

  const ended = only(run.ended);
  expect(ended, ended.message).toMatchObject({ code: 'replaced', cause: 'image-pull' });
  expect(ended.tasks).not.toContain('ReleaseNode');
  const states = statesOf(run, uid);
  const cordoned = states.find(({ spec }) => spec.unschedulable);
  expect(cordoned && hasOwnTaint(cordoned)).toBe(false);
  expect(cordoned && markOf(cordoned)).toMatchObject({ cordoned: true, tainted: false });
  expect(run.writes.filter(({ resource }) => resource === 'nodes')).toHaveLength(2);
  await scene.expectOnlyWrittenTo(run, [name]);
});

test.concurrent('a node that still bears a start-up taint is being set up, and judged once it is not', async () => {
  const setup = { key: 'example.com/setup', effect: 'NoSchedule' };
  const daemon = removeTaints('fresh', setup.key);
  const scene = await Scene.make(cluster, {
    name: 'fresh',
    nodes: 3,
    daemonSet: { tolerations: [] },
    pool: { startupTaints: [setup] },
  });
  await daemon.stop();
  const before = new Set((await scene.nodes()).map(({ metadata }) => metadata.name));
  await cluster.kubectl(['-n', 'fresh', 'scale', 'deployment/web', '--replicas=4']);
  const fresh = await waitFor(
    async () => (await poolNodes('fresh')).find(({ metadata }) => !before.has(metadata.name)),
    { timeout: patience, what: 'a new node', describe: () => scene.describe() },
  );
  const { name, uid } = fresh.metadata;
  await cluster.injector.set({ node: name, daemonSet: scene.daemonSet }, 'never-ready');
  let early: Detection | undefined;
  let late: Detection | undefined;
  let told = '';
  const run = await scene.run({
    // Hold-down is longer than it takes to heal.
    config: { startupTaints: [setup.key], timings: { nodeGrace: 25, holdDown: 120 } },
    nodes: [name],
    meanwhile: async (seen, operator) => {
      early = await operator.detection();
      await waitFor(() => said(operator).includes(scene.daemonSet), {
        timeout: patience,
        what: 'somebody to be told that the taint stays',
      });
      late = await operator.detection();
      told = said(operator);
      expect(operator.attempts()).toEqual([]);
      await cluster.kubectl(['taint', 'node', name, `${setup.key}-`]);
      await waitFor(
        () => seen.changes.some(({ object }) => object.metadata.uid === uid && markOf(object)),
        { timeout: patience, what: `${name} to be isolated` },
      );
      await scene.heal(name);
    },
  });
  expect(early?.gaps).toEqual([]);
  expect(early?.unknown).toContainEqual(
    expect.objectContaining({ node: name, reason: 'node-initialising' }),
  );
  expect(late?.gaps).toEqual([
    expect.objectContaining({ node: name, cause: 'untolerated-taint', blame: 'unclear' }),
  ]);
  expect(told).toContain(setup.key);
  expect(only(run.ended)).toMatchObject({ code: 'recovered', cause: 'not-ready' });
  const first = statesOf(run, uid).find((state) => markOf(state) !== undefined);
  expect(first?.spec.taints ?? []).not.toContainEqual(expect.objectContaining(setup));
  const states = statesOf(run, uid);
  expect(states.some(hasOwnTaint)).toBe(false);
  expect(changesIn(run).filter((change) => change.startsWith('delete'))).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
});

function poolNodes(pool: string): Promise<Node[]> {
  return nodes(cluster.client(), `karpenter.sh/nodepool=${pool}`);
}

/** Does what an agent does on the nodes of a pool: takes the start-up taint off, until stopped. */
function removeTaints(pool: string, key: string) {
  let going = true;
  const done = (async () => {
    while (going) {
      for (const { metadata, spec } of await poolNodes(pool)) {
        if (spec.taints?.some((taint) => taint.key === key)) {
          await cluster.kubectl(['taint', 'node', metadata.name, `${key}-`]);
        }
      }
      await sleep(250);
    }
  })();
  return {
    stop: async () => {
      going = false;
      await done;
    },
  };
}
