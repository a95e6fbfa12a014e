/** Nodes and NodeClaims that somebody else takes away while nodegap is at work, or before. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyNode, applyPdb } from '../harness/objects.ts';
import { isReady, node } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { Operator } from '../support/operator.ts';
import { only, Scene, statesOf, wideBreaker } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { hasOwnTaint, markOf, shapeOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

/** Waits until such a state of the machine was entered on behalf of the node. */
function entered(operator: Operator, { metadata }: Node, state: string) {
  return waitFor(
    () =>
      operator.events.some(
        (event) => event.input.nodeUid === metadata.uid && event.state === state,
      ),
    { timeout: 180_000, what: `${state} for ${metadata.name}`, describe: () => operator.trace() },
  );
}

test.concurrent('a node that is deleted under way is given up, and its successor of the same name is a new node', async () => {
  const client = cluster.client();
  const labels = { scene: 'names' };
  const scene = await Scene.make(cluster, {
    name: 'names',
    nodes: 3,
    pool: { labels },
    daemonSet: { nodeSelector: labels },
  });
  const [, witness] = await scene.victimAndWitness();
  // Karpenter has no part in these.
  const plain: Node[] = [];
  // In zones of their own, lest the zone's breaker opens.
  for (const name of ['names-reborn', 'names-gone']) {
    await applyNode(client, { name, labels, zone: `${name}1` });
    await waitFor(async () => (await scene.agentOn(name)).some(isReady), {
      timeout: 180_000,
      what: `the agent on ${name}`,
    });
    plain.push(await scene.node(name));
    // Each in its own way, lest it looks like the DaemonSet's fault.
    await scene.break(name, name === 'names-gone' ? 'sandbox' : 'never-ready');
  }
  const [reborn, gone] = plain as [Node, Node];
  const names = plain.map(({ metadata }) => metadata.name);
  const taken = new Set<string>();
  const run = await scene.run({
    nodes: names,
    config: { breaker: { ...wideBreaker, parallelPerPool: 5, parallelPerCluster: 5 } },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    ports: {
      // Right before the machine looks again, so that it finds the one and not the other.
      wrapHandler: (task, handler) => async (event) => {
        const { node: of } = (event as { state: { node: string } }).state;
        if (task === 'check-recovery' && !taken.has(of)) {
          taken.add(of);
          await client.delete(`/api/v1/nodes/${of}`);
          if (of === 'names-reborn') await applyNode(client, { name: of, labels, zone: `${of}1` });
        }
        return handler(event);
      },
    },
  });
  expect(run.ended.map(({ code }) => code)).toEqual(['node-recreated', 'node-gone']);
  // Its DaemonSet does no better on the new one, so there would be cause to take it up.
  const successor = await scene.node('names-reborn');
  expect(successor.metadata.uid).not.toBe(reborn.metadata.uid);
  expect(successor.spec.unschedulable).toBeUndefined();
  expect(markOf(successor)).toBeUndefined();
  expect(statesOf(run, successor.metadata.uid).some(({ spec }) => spec.unschedulable)).toBe(false);
  for (const { metadata } of plain) {
    expect(statesOf(run, metadata.uid).map(markOf)).toContainEqual(
      expect.objectContaining({ cordoned: true }),
    );
  }
  const before = run.ended.map(({ input }) => input.nodeUid);
  expect(before).toEqual([reborn.metadata.uid, gone.metadata.uid]);
  expect(await scene.eventsOn(successor)).toEqual([]);
  expect(run.slots).toEqual([]);
  // Quiet: nobody has to do anything about a node that is gone.
  expect(run.notices.filter(({ kind }) => kind === 'alert')).toEqual([]);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([]);
  await scene.expectOnlyWrittenTo(run, names);
  await cluster.kubectl(['delete', 'node', 'names-reborn']);
  await scene.remove();
});

test.concurrent('a NodeClaim that somebody else deletes during the drain is left to Karpenter', async () => {
  const scene = await Scene.make(cluster, { name: 'overtaken' });
  await applyPdb(cluster.client(), {
    name: 'web',
    namespace: scene.namespace,
    app: 'web',
    maxUnavailable: 0,
  });
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  const claim = await scene.claimOf(name);
  await scene.break(name, 'never-ready');
  const run = await scene.run({
    nodes: [name],
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      await entered(operator, victim, 'WaitForDrain');
      await cluster.kubectl(['delete', 'nodeclaim', claim.metadata.name, '--wait=false']);
    },
  });
  const ended = only(run.ended);
  // Karpenter deletes the node as soon as it sees the deletion of the claim.
  expect(['claim-deleting', 'node-deleting']).toContain(ended.code);
  expect(ended.tasks).not.toContain('ReplaceNode');
  expect(run.attempts).toEqual([name]);
  expect(run.slots).toEqual([]);
  // The budget held against both.
  expect(run.writes.filter(({ subresource, code }) => subresource && code === 201)).toHaveLength(1);
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([]);
  const reasons = (await scene.eventsOn(victim)).map(({ reason }) => reason);
  expect(reasons.some((reason) => /^Nodegap(Claim|Node)Deleting$/.test(reason ?? ''))).toBe(true);
  expect(statesOf(run, uid).some(hasOwnTaint)).toBe(true);
  await cluster.kubectl(['-n', scene.namespace, 'delete', 'pdb', 'web']);
  await waitFor(async () => (await node(cluster.client(), name)) === undefined, {
    timeout: 120_000,
    what: `Karpenter to end ${name}`,
  });
  await scene.allWell();
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.remove();
});

test.concurrent('a NodeClaim that is being deleted already is deferred, also when a person asks', async () => {
  const scene = await Scene.make(cluster, { name: 'leaving' });
  await applyPdb(cluster.client(), {
    name: 'web',
    namespace: scene.namespace,
    app: 'web',
    maxUnavailable: 0,
  });
  const [victim, witness] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  const claim = await scene.claimOf(name);
  await scene.break(name, 'never-ready');
  await cluster.kubectl(['delete', 'nodeclaim', claim.metadata.name, '--wait=false']);
  // Karpenter cordons it by its taint, and waits for the pods.
  await waitFor(async () => (await scene.node(name)).spec.taints?.length, {
    timeout: 180_000,
    what: `Karpenter to begin with ${name}`,
  });
  const leaving = await scene.node(name);
  const run = await scene.run({
    nodes: [name],
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      // Longer than the confirmation: by itself it begins nothing.
      await sleep(12_000);
      await operator.moreScans(3);
      expect(operator.attempts()).toEqual([]);
      await operator.request(victim);
    },
  });
  expect(only(run.ended)).toMatchObject({
    code: 'node-deleting',
    tasks: ['ConfirmGap', 'Report'],
  });
  expect(shapeOf(await scene.node(name))).toEqual(shapeOf(leaving));
  expect((await scene.eventsOn(victim)).map(({ reason }) => reason)).toEqual([
    'NodegapNodeDeleting',
  ]);
  expect(run.slots).toEqual([]);
  expect(run.writes.map(({ resource }) => resource)).toEqual(['events']);
  await cluster.kubectl(['-n', scene.namespace, 'delete', 'pdb', 'web']);
  await waitFor(async () => (await node(cluster.client(), name)) === undefined, {
    timeout: 120_000,
    what: `Karpenter to end ${name}`,
  });
  await scene.allWell();
  await scene.remove();
});
