/** Node conditions that become taints, by the real function under the rights that are shipped. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ConditionTaintConfig } from '../../../lib/config/model.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import { writesIn } from '../harness/audit.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';
import type { ConfigChanges } from '../support/operator.ts';
import { Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { makeWriters } from '../support/taint-writers.ts';
import { noteOn, report, Tainting, taintOf } from '../support/tainting.ts';

const type = 'NodeAgentUnwell';
const rule: ConditionTaintConfig = {
  name: 'node-agent',
  type,
  status: 'True',
  reasons: ['AgentUnhealthy'],
  minimumAge: 2,
  holdDown: 3,
  holdUp: 3,
  effect: 'NoSchedule',
};
/** Of five nodes two may be unhealthy, in the pool, its only zone and the cluster. */
const breaker = { maxUnhealthyPercent: 40, unhealthyInOneZone: 50 };
const config: ConfigChanges = { conditionTaints: [rule], breaker };
const unwell = { type, status: 'True', reason: 'AgentUnhealthy' };
const well = { type, status: 'False', reason: 'AgentHealthy' };

let cluster: ControlPlane;
let scene: Scene;
let names: string[];

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
  scene = await Scene.make(cluster, {
    name: 'conditions',
    nodes: 5,
    pool: { zone: 'test-zone-a' },
  });
  names = (await scene.nodes()).map(({ metadata }) => metadata.name);
});
afterAll(() => cluster?.stop());

// Each test finds the nodes as they were made.
afterEach(async () => {
  const nodegap = await Tainting.connect(scene, config);
  for (const name of names) await report(scene, name, well);
  await nodegap.until(
    'every node to be without its taint',
    async () => (await tainted()).length === 0,
  );
});

async function tainted(): Promise<string[]> {
  const found = await scene.nodes();
  return found.filter((node) => taintOf(rule, node)).map(({ metadata }) => metadata.name);
}

const [first, second, third] = [0, 1, 2].map((index) => () => names[index] ?? '') as [
  () => string,
  () => string,
  () => string,
];
const bears = async (name: string) => (await tainted()).includes(name);
/** All that nobody but its owners may have changed. */
const restOf = ({ metadata, spec }: Node) => {
  const { taints: _taints, ...others } = spec;
  const { 'nodegap.dev/condition-taints': _note, ...annotations } = metadata.annotations ?? {};
  return { labels: metadata.labels, annotations, others };
};

test('the taint comes when the condition has lasted, and goes when its end has', async () => {
  const nodegap = await Tainting.connect(scene, config);
  const before = await scene.node(first());
  const requests = scene.actuator.audit().length;
  await nodegap.times(2);
  await report(scene, first(), unwell);
  await nodegap.until('the taint to come', () => bears(first()));

  const with_ = await scene.node(first());
  expect(taintOf(rule, with_)).toMatchObject({ effect: 'NoSchedule' });
  expect(restOf(with_)).toEqual(restOf(before));
  const { installation, taints } = noteOn(with_) ?? {};
  expect(installation).toBe('000000000000/local/conditions');
  const note = taints?.[rule.name];
  const lasted = Date.parse(note?.at ?? '') - Date.parse(note?.since ?? '');
  expect(lasted).toBeGreaterThanOrEqual(rule.holdDown * 1000);

  // Another reason than the rule's is the same condition going on.
  await report(scene, first(), { ...unwell, reason: 'Other' });
  await nodegap.times(2);
  expect(await tainted()).toEqual([first()]);

  const ended = Date.now();
  await report(scene, first(), well);
  await nodegap.until('the taint to go', async () => !(await bears(first())));
  expect(Date.now() - ended).toBeGreaterThanOrEqual((rule.holdUp - 1) * 1000);
  const after = await scene.node(first());
  expect([after.spec.taints ?? [], noteOn(after)]).toEqual([before.spec.taints ?? [], undefined]);
  expect(restOf(after)).toEqual(restOf(before));

  const writes = writesIn(scene.actuator.audit().slice(requests));
  const patches = writes.filter(({ resource }) => resource === 'nodes');
  expect(patches.map(({ name, code }) => [name, code])).toEqual([
    [first(), 200],
    [first(), 200],
  ]);
  expect(writes.filter(({ code }) => code >= 400)).toEqual([]);
  const events = await scene.eventsOn(after);
  expect(events.map(({ reason }) => reason)).toEqual(
    expect.arrayContaining(['NodegapConditionTaintAdded', 'NodegapConditionTaintRemoved']),
  );
});

test('nobody who writes taints of the node at the same time loses one', async () => {
  const nodegap = await Tainting.connect(scene, config);
  const client = cluster.client();
  const name = second();
  const writers = makeWriters(4);
  const running = writers.map((writer) => writer.run(client, name));
  try {
    for (let round = 0; round < 3; round += 1) {
      await report(scene, name, unwell);
      await nodegap.until('the taint to come', () => bears(name));
      await report(scene, name, well);
      await nodegap.until('the taint to go', async () => !(await bears(name)));
    }
  } finally {
    for (const writer of writers) writer.stop();
    await Promise.all(running);
  }
  const last = await scene.node(name);
  for (const writer of writers) {
    writer.check(last);
    expect(writer.losses).toEqual([]);
    expect(writer.wrote).toBeGreaterThan(0);
    await cluster.kubectl(['taint', 'node', name, `${writer.taint.key}-`]).catch(() => undefined);
  }
});

test('what nobody can believe, and what somebody else put on, changes nothing', async () => {
  const nodegap = await Tainting.connect(scene, config);
  await report(scene, first(), unwell);
  await nodegap.until('the taint to come', () => bears(first()));
  // The detector has died: its last word says that all is well, and is old.
  await report(scene, first(), { ...well, agoMs: 20 * 60_000 });
  await cluster.kubectl([
    'taint',
    'node',
    second(),
    `nodegap.dev/condition-${rule.name}=:PreferNoSchedule`,
  ]);
  await nodegap.times(8);
  expect(await tainted()).toEqual([first(), second()].sort());
  expect(noteOn(await scene.node(second()))).toBeUndefined();
  await cluster.kubectl(['taint', 'node', second(), `nodegap.dev/condition-${rule.name}-`]);
});

test('a taint whose rule is gone is taken off', async () => {
  const nodegap = await Tainting.connect(scene, config);
  await report(scene, third(), unwell);
  await nodegap.until('the taint to come', () => bears(third()));
  nodegap.publish({ ...config, conditionTaints: [] });
  await nodegap.until('the orphan to go', async () => !(await bears(third())));
  expect(noteOn(await scene.node(third()))).toBeUndefined();
});

test('the breaker holds the third of five, says so once, and lets it have the place of another', async () => {
  const nodegap = await Tainting.connect(scene, config);
  for (const name of [first(), second(), third()]) await report(scene, name, unwell);
  await nodegap.until('two taints to come', async () => (await tainted()).length === 2);
  await nodegap.times(5);
  const held = await tainted();
  expect(held).toHaveLength(2);
  expect(nodegap.notices).toHaveLength(1);

  const [one = ''] = held;
  await report(scene, one, well);
  await nodegap.until('the place to go to the one that waits', async () => {
    const now = await tainted();
    return now.length === 2 && !now.includes(one);
  });
});

test('in mode observe nothing is written', async () => {
  const { config: acting } = scene.config(config);
  const clusters = acting.clusters.map((each) => ({ ...each, mode: 'observe' as const }));
  const nodegap = await Tainting.connect(scene, { ...config, clusters });
  await report(scene, first(), unwell);
  const requests = scene.actuator.audit().length;
  const since = Date.now();
  await waitFor(
    async () => {
      await nodegap.times(1);
      return Date.now() - since > (rule.holdDown + rule.minimumAge + 2) * 1000;
    },
    { timeout: 180_000, interval: 500, what: 'the hold-down to be over' },
  );
  expect(await tainted()).toEqual([]);
  expect(
    writesIn(scene.actuator.audit().slice(requests)).filter(({ resource }) => resource === 'nodes'),
  ).toEqual([]);
});
