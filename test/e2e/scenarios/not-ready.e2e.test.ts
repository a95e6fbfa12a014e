/**
 * Nodes that are not Ready: left to Karpenter, and otherwise acted on only when a second observer
 * agrees. In a file of its own, since such nodes count in the cluster of every scene.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { InstanceReading } from '../../../lib/observation-ports.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { isReady, node, pods } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { deletionsIn } from '../support/drains.ts';
import { MachineGroup, silence } from '../support/machine-group.ts';
import type { ObservedRun } from '../support/observed-run.ts';
import type { Operator } from '../support/operator.ts';
import { expectWritesOnlyTo, only, Scene, statesOf } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { hasOwnTaint, markOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});
afterAll(() => cluster?.stop());

const impaired: InstanceReading = { kind: 'impaired', checks: ['system status check'] };

/** A group with a node that is not Ready. */
async function groupWithSilent(name: string): Promise<{ group: MachineGroup; victim: Node }> {
  const group = await MachineGroup.make(cluster, name);
  const [victim] = await group.nodes();
  if (victim === undefined) throw new Error(`${name} has no node`);
  return { group, victim };
}

async function isolated({ metadata }: Node): Promise<void> {
  await waitFor(
    async () => {
      const found = await node(cluster.client(), metadata.name);
      return found && markOf(found) !== undefined;
    },
    { timeout: 180_000, what: `${metadata.name} to be isolated` },
  );
}

/** Waits until nodegap has found the node not Ready in a scan, confirmed it, and gone on. */
async function seenNotReady(operator: Operator, name: string): Promise<void> {
  await waitFor(
    async () => {
      const { gaps } = await operator.detection();
      return gaps.some(
        (gap) => gap.node === name && gap.cause === 'node-not-ready' && gap.confirmed,
      );
    },
    { timeout: 120_000, interval: 500, what: `a confirmed gap on ${name}` },
  );
  await operator.moreScans(3);
}

/** That no node was written to and no pod evicted, only said why. */
function expectUntouched(run: ObservedRun): void {
  const asked = run.writes.map(({ verb, resource }) => `${verb} ${resource}`);
  for (const what of asked) expect(['create events', 'patch events']).toContain(what);
  expect(run.attempts).toEqual([]);
  expect(run.slots).toEqual([]);
}

const bodies = (run: ObservedRun) => run.notices.map(({ body }) => body).join('\n');

test.concurrent('a dead machine that EC2 calls impaired is replaced, after a hold-down of its own', async () => {
  const { group, victim } = await groupWithSilent('dead');
  const { name, uid } = victim.metadata;
  const before = await pods(cluster.client(), group.name, 'web');
  group.setChecks(victim, impaired);
  await silence(cluster, name);
  const run = await group.run({
    nodes: [name],
    // The hold-down of other causes would never end here.
    config: { timings: { confirmation: 4, holdDown: 3_600, holdDownNodeNotReady: 4 } },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced', cause: 'node-not-ready' });
  expect(group.ended).toEqual([victim.spec.providerID?.split('/').at(-1)]);
  expect(await node(cluster.client(), name)).toBeUndefined();
  const states = statesOf(run, uid);
  expect(states.some((state) => state.spec.unschedulable && hasOwnTaint(state))).toBe(true);
  expect(states.every((state) => !isReady(state))).toBe(true);
  // Its workload was asked to leave before the machine was ended, and runs elsewhere.
  const evicted = run.writes.filter(({ subresource, code }) => {
    return subresource === 'eviction' && code === 201;
  });
  const web = before.find(({ spec }) => spec.nodeName === name);
  expect(evicted.map((entry) => entry.name)).toContain(web?.metadata.name);
  await group.allWell();
  expectWritesOnlyTo(run, [name]);
  // The machine is ended through its group: nothing of the cluster is deleted.
  expect(deletionsIn(run)).toEqual([]);
});

test.concurrent('a silent kubelet on a machine that EC2 finds well is left to a person, who is told', async () => {
  const { group, victim } = await groupWithSilent('alive');
  await silence(cluster, victim.metadata.name);
  const run = await group.run({
    nodes: [],
    config: { timings: { confirmation: 4, holdDownNodeNotReady: 4 } },
    meanwhile: (_seen, operator) => seenNotReady(operator, victim.metadata.name),
  });
  expectUntouched(run);
  expect(bodies(run)).toContain('observer-disagrees');
  expect(bodies(run)).toContain('EC2 finds nothing wrong with its instance');
  expect(group.ended).toEqual([]);
});

test.concurrent('a second observer who changes his mind ends the hold-down, and all is undone', async () => {
  const { group, victim } = await groupWithSilent('doubt');
  const { name, uid } = victim.metadata;
  group.setChecks(victim, impaired);
  await silence(cluster, name);
  const run = await group.run({
    nodes: [name],
    config: { timings: { confirmation: 4, holdDownNodeNotReady: 3_600 } },
    meanwhile: async () => {
      await isolated(victim);
      group.setChecks(victim, { kind: 'ok' });
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'observer-disagrees' });
  const after = await node(cluster.client(), name);
  expect(after?.metadata.uid).toBe(uid);
  expect(after?.spec.unschedulable).toBeUndefined();
  expect(after && hasOwnTaint(after)).toBe(false);
  expect(after && markOf(after)).toBeUndefined();
  // The taint of the node controller is not nodegap's to take off.
  expect(after?.spec.taints?.map(({ key }) => key)).toContain('node.kubernetes.io/unreachable');
  expect(run.writes.filter(({ subresource }) => subresource === 'eviction')).toEqual([]);
  expect(group.ended).toEqual([]);
  expect(run.slots).toEqual([]);
  expectWritesOnlyTo(run, [name]);
});

test.concurrent('a node of Karpenter is left to its node repair, and without that held while nobody can ask EC2', async () => {
  const scene = await Scene.make(cluster, { name: 'karpenter' });
  const [victim] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  await silence(cluster, name);
  const meanwhile = (_seen: unknown, operator: Operator) => seenNotReady(operator, name);
  const breaker = { maxUnhealthyPercent: 100, unhealthyInOneZone: 1_000 };
  const timings = { confirmation: 4, holdDownNodeNotReady: 4 };
  const left = await scene.run({ nodes: [], config: { timings, breaker }, meanwhile });
  expectUntouched(left);
  // Karpenter's affair is no news to anybody.
  expect(left.notices).toEqual([]);

  const clusters = scene
    .config()
    .config.clusters.map((each) => ({ ...each, karpenterNodeRepair: 'off' as const }));
  const held = await scene.run({ nodes: [], config: { timings, breaker, clusters }, meanwhile });
  expectUntouched(held);
  expect(bodies(held)).toContain('observer-unknown');
  await scene.expectOnlyWrittenTo(held, []);
});
