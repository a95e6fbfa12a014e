/** What goes wrong on many nodes at once is not theirs: nodegap tells it and touches nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Detection } from '../../../lib/gap/model.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { Notice } from '../../../lib/ports.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyDeployment, applyNodePool } from '../harness/objects.ts';
import { nodes, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { only, Scene, statesOf } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import {
  addDaemonSets,
  allConfirmed,
  changesIn,
  readyOn,
  requiring,
  said,
} from '../support/several.ts';
import { breakPod, markOf, shapeOf } from '../support/traces.ts';

const patience = 180_000;

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});

afterAll(() => cluster?.stop());

const nameOf = ({ metadata }: Node) => metadata.name;
const ofKind = (notices: readonly Notice[], kind: string) =>
  notices.filter((notice) => notice.kind === kind);

test.concurrent('a quarter of a pool is too much at once, and what is left is worked on when it is less', async () => {
  const scene = await Scene.make(cluster, {
    name: 'quarter',
    nodes: 8,
    pool: { zone: 'test-zone-c' },
  });
  // In two DaemonSets, so that neither is to blame and the breaker alone decides.
  const names = ['one', 'two'];
  await addDaemonSets(
    scene,
    names.map((name) => ({ name })),
  );
  const present = await scene.nodes();
  await readyOn(scene, names, present);
  const [healing, staying] = present as [Node, Node];
  const pairOf = (node: Node, name: string) => ({
    node: nameOf(node),
    daemonSet: `${scene.namespace}/${name}`,
  });
  await breakPod(cluster, pairOf(healing, 'one'), 'never-ready');
  await breakPod(cluster, pairOf(staying, 'two'), 'never-ready');
  let held: { attempts: string[]; breakers: Notice[]; nodes: Node[] } | undefined;
  const { requiredDaemonSets } = requiring(scene, names);
  const run = await scene.run({
    // The share is the default. Hold-down is longer than it takes to heal, and the cool-down than
    // the time between two scans on a busy machine.
    config: { requiredDaemonSets, breaker: { coolDown: 20 }, timings: { holdDown: 120 } },
    nodes: [nameOf(staying)],
    meanwhile: async (seen, operator) => {
      await waitFor(() => ofKind(operator.notices, 'breaker').length > 0, {
        timeout: patience,
        what: 'the breaker to be told',
      });
      await allConfirmed(operator);
      held = {
        attempts: operator.attempts(),
        breakers: [...ofKind(operator.notices, 'breaker')],
        nodes: await scene.nodes(),
      };
      await cluster.injector.unset(pairOf(healing, 'one'));
      await waitFor(
        () =>
          seen.changes.some(
            ({ object }) => object.metadata.uid === staying.metadata.uid && markOf(object),
          ),
        { timeout: patience, what: 'the other node to be isolated' },
      );
      await cluster.injector.unset(pairOf(staying, 'two'));
    },
  });
  expect(held?.attempts).toEqual([]);
  expect(held?.nodes.map(shapeOf)).toEqual(present.map(shapeOf));
  const opened = only(held?.breakers ?? []);
  expect(opened.severity).toBe('critical');
  expect(opened.body).toContain('Pool quarter: 2 of 8 nodes unhealthy = 25 %');
  expect(opened.body).toContain('limit 1 (20 % of 8, rounded down, at least 1)');
  for (const node of [healing, staying]) expect(opened.body).toContain(nameOf(node));

  const [, closed] = ofKind(run.notices, 'breaker');
  expect(closed?.body).toContain('again');
  expect(only(run.ended)).toMatchObject({ code: 'recovered', cause: 'not-ready' });
  expect(run.attempts).toEqual([nameOf(staying)]);
  expect(statesOf(run, healing.metadata.uid).map(markOf)).not.toContainEqual(expect.anything());
  await scene.expectOnlyWrittenTo(run, [nameOf(staying)]);
});

test.concurrent('a bad release, rolled out or on delete, and a bad input are the fault of the DaemonSet', async () => {
  const scene = await Scene.make(cluster, {
    name: 'release',
    nodes: 5,
    pool: { zone: 'test-zone-c' },
  });
  const names = ['rolled', 'on-delete', 'shared'];
  const two = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } };
  await addDaemonSets(scene, [
    { name: 'rolled', updateStrategy: two },
    { name: 'on-delete', updateStrategy: { type: 'OnDelete' } },
    { name: 'shared' },
  ]);
  const present = await scene.nodes();
  await readyOn(scene, names, present);
  const everywhere = (name: string) => ({ node: '*', daemonSet: `${scene.namespace}/${name}` });
  // A ConfigMap that everybody reads has changed; nobody has a new template.
  await cluster.injector.set(everywhere('shared'), 'crash-loop');
  await cluster.injector.set(everywhere('rolled'), 'crash-loop', { from: 'next' });
  await cluster.injector.set(everywhere('on-delete'), 'never-ready', { from: 'next' });
  for (const name of ['rolled', 'on-delete']) {
    await cluster.kubectl([
      ...['-n', scene.namespace, 'set', 'image', `daemonset/${name}`, 'main=example.invalid/bad:2'],
    ]);
  }
  // On delete: so somebody deletes one.
  const [first] = present as [Node];
  const onFirst = { node: nameOf(first), daemonSet: `${scene.namespace}/on-delete` };
  const [pod] = await podsOf(cluster.client(), onFirst);
  await cluster.kubectl(['-n', scene.namespace, 'delete', 'pod', pod?.metadata.name ?? '']);
  let detection: Detection | undefined;
  const run = await scene.run({
    config: requiring(scene, names),
    nodes: [],
    meanwhile: async (_, operator) => {
      await waitFor(
        () => names.every((name) => said(operator).includes(`${scene.namespace}/${name}`)),
        { timeout: patience, what: 'all three to be told', describe: () => said(operator) },
      );
      // No canary either, however long it lasts.
      detection = await allConfirmed(operator);
    },
  });
  const gapsOf = (name: string) =>
    (detection?.gaps ?? []).filter(({ daemonSet }) => daemonSet === `${scene.namespace}/${name}`);
  const blamed = (cause: string) => ({ cause, blame: 'daemonset' });
  // The update stops at what it may take.
  expect(gapsOf('rolled')).toEqual(Array(2).fill(expect.objectContaining(blamed('crash-loop'))));
  expect(gapsOf('on-delete')).toEqual([
    expect.objectContaining({ node: nameOf(first), ...blamed('not-ready') }),
  ]);
  expect(gapsOf('shared')).toEqual(Array(5).fill(expect.objectContaining(blamed('crash-loop'))));
  for (const name of names) {
    const about = run.notices.filter(({ body }) => body.includes(`${scene.namespace}/${name}`));
    expect(about.map(({ kind }) => kind)).toEqual(['alert']);
    expect(about[0]?.body).toContain('blame-daemonset');
  }
  expect(said(run)).toContain(`kubectl rollout undo daemonset/rolled -n ${scene.namespace}`);
  expect(changesIn(run)).toEqual([]);
  expect(run.attempts).toEqual([]);
  await scene.expectOnlyWrittenTo(run, []);
});

test.concurrent('a zone that fails is blamed as a whole, and its nodes are left alone', async () => {
  const fleet = { fleet: 'zonal' };
  const scene = await Scene.make(cluster, {
    name: 'zonal',
    nodes: 3,
    pool: { labels: fleet, zone: 'test-zone-a' },
    daemonSet: { nodeSelector: fleet },
  });
  const client = cluster.client();
  const inZone = await scene.nodes();
  await applyNodePool(client, { name: 'zonal-b', labels: fleet, zone: 'test-zone-b' });
  await applyDeployment(client, {
    name: 'web-b',
    namespace: scene.namespace,
    replicas: 4,
    apart: true,
    nodeSelector: { 'karpenter.sh/nodepool': 'zonal-b' },
  });
  const elsewhere = await waitFor(
    async () => {
      const labels = 'karpenter.sh/nodepool=zonal-b,karpenter.sh/initialized=true';
      const found = await nodes(client, labels);
      return found.length === 4 && found;
    },
    { timeout: patience, what: 'the nodes of the other zone', describe: () => scene.describe() },
  );
  await readyOn(scene, ['agent'], elsewhere);
  for (const node of inZone) await scene.break(nameOf(node), 'sandbox');
  let detection: Detection | undefined;
  const run = await scene.run({
    // So wide that the breaker holds nothing but for its rule of one zone.
    config: { breaker: { maxUnhealthyPercent: 100, unhealthyInOneZone: 3 } },
    nodes: [],
    meanwhile: async (_, operator) => {
      await waitFor(() => said(operator).includes('blame-zone'), {
        timeout: patience,
        what: 'the zone to be told',
        describe: () => said(operator),
      });
      detection = await allConfirmed(operator);
    },
  });
  expect(detection?.gaps.map(({ node, cause, blame }) => ({ node, cause, blame }))).toEqual(
    inZone.map((node) => ({ node: nameOf(node), cause: 'sandbox', blame: 'zone' })),
  );
  const alert = only(ofKind(run.notices, 'alert'));
  expect(alert.body).toContain('3 of 3 nodes in zone test-zone-a have a gap, and 0 of 4');
  const breaker = only(ofKind(run.notices, 'breaker'));
  expect(breaker.body).toContain('test-zone-a');
  expect(breaker.body).toContain('the zone seems to be at fault');
  expect(changesIn(run)).toEqual([]);
  expect(run.attempts).toEqual([]);
  await scene.expectOnlyWrittenTo(run, []);
  const now = await nodes(client, 'fleet=zonal');
  expect(now.map(({ spec }) => spec.unschedulable ?? false)).toEqual(Array(7).fill(false));
});
