/**
 * Nodes repaired from gap to verified replacement by the real Karpenter, and nodes given back, by
 * nodegap as the actuator under the RBAC and the admission policy that `nodegap rbac` prints.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubernetesEvent, Node, NodeClaim, Pod } from '../../lib/kubernetes/objects.ts';
import type { AuditEntry } from './harness/audit.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { isReady, node, nodeClaims, nodes, pods, podsOf } from './harness/state.ts';
import { waitFor } from './harness/wait.ts';
import { type ObservedRun, observe } from './support/observed-run.ts';
import { type Ended, quickConfig } from './support/operator.ts';
import { applyRbac, policyInForce } from './support/rbac.ts';
import {
  agent,
  allWell,
  cni,
  makePools,
  nodesOf,
  type Pool,
  webApps,
  webReplicas,
} from './support/repair-cluster.ts';
import { expectWritesOnlyTo, only, statesOf, withoutRepeats } from './support/scene.ts';
import {
  breakPod,
  deletionAsked,
  disruptionOf,
  goneAt,
  hasOwnTaint,
  lowestAvailability,
  markOf,
  ownTaint,
  restartPod,
  shapeOf,
} from './support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane({ karpenter: true });
  await applyRbac(cluster);
  await makePools(cluster);
  const [any] = await nodes(cluster.client());
  await policyInForce(cluster, any?.metadata.name ?? '');
});

afterAll(() => cluster?.stop());

/** The first node of a pool by name, which is to be broken, and one that stays well. */
async function twoOf(pool: Pool): Promise<[Node, Node]> {
  const [first, second] = await nodesOf(cluster, pool);
  if (first === undefined || second === undefined) throw new Error(`${pool} has too few nodes`);
  return [first, second];
}

/** Nodes of the pool that were not there before the run. */
async function newNodes(run: ObservedRun, pool: Pool): Promise<Node[]> {
  const known = new Set(run.nodesBefore.map(({ metadata }) => metadata.uid));
  return (await nodesOf(cluster, pool)).filter(({ metadata }) => !known.has(metadata.uid));
}

/** That the run had all the rights it needed, and wrote to no node but these. */
async function expectOnlyWrittenTo(run: ObservedRun, names: string[]): Promise<void> {
  expectWritesOnlyTo(run, names);
  for (const before of run.nodesBefore) {
    const { name } = before.metadata;
    if (names.includes(name)) continue;
    const now = await node(cluster.client(), name);
    expect(now && shapeOf(now), name).toEqual(shapeOf(before));
  }
}

/** The uid that an eviction has as its precondition. */
function uidAskedFor({ body }: AuditEntry): string {
  const eviction = body as { deleteOptions: { preconditions: { uid: string } } };
  return eviction.deleteOptions.preconditions.uid;
}

describe('a node whose CNI never becomes Ready, while it does elsewhere', () => {
  let victim: Node;
  let claim: NodeClaim | undefined;
  let workload: Pod[];
  let run: ObservedRun;
  let ended: Ended;

  beforeAll(async () => {
    const client = cluster.client();
    const [broken, witness] = await twoOf('general');
    victim = broken;
    const { name } = victim.metadata;
    await breakPod(cluster, { node: name, daemonSet: cni }, 'never-ready');
    claim = (await nodeClaims(client)).find(({ status }) => status.nodeName === name);
    const web = await Promise.all(webApps.map((app) => pods(client, 'default', app)));
    workload = web.flat().filter(({ spec }) => spec.nodeName === name);
    run = await observe(cluster, {
      config: quickConfig(),
      nodes: [name],
      afterFirstScan: () => restartPod(cluster, { node: witness.metadata.name, daemonSet: cni }),
    });
    ended = only(run.ended);
  });

  test('is blamed, goes through every state and ends replaced', () => {
    expect(ended).toMatchObject({ code: 'replaced', cause: 'not-ready', blame: 'node' });
    expect(withoutRepeats(ended.tasks)).toEqual([
      'ConfirmGap',
      'AcquireSlot',
      'IsolateNode',
      'CheckRecovery',
      'RestartDaemonPod',
      'CheckRecovery',
      'TaintNode',
      'DrainNode',
      'ReplaceNode',
      'VerifyReplacement',
      'ReleaseSlot',
      'Report',
    ]);
    expect(run.attempts).toEqual([victim.metadata.name]);
    expect(run.slots).toEqual([]);
    expect(run.notices).toEqual([
      expect.objectContaining({ kind: 'report', node: victim.metadata.name }),
    ]);
  });

  test('is cordoned, tainted and marked in one patch', () => {
    const touched = statesOf(run, victim.metadata.uid).find(
      (state) => state.spec.unschedulable || hasOwnTaint(state) || markOf(state) !== undefined,
    );
    expect(touched?.spec.unschedulable).toBe(true);
    // The CNI tolerates the taint, so nothing speaks against it from the start.
    expect(touched?.spec.taints).toContainEqual(ownTaint);
    expect(touched && markOf(touched)).toMatchObject({
      execution: ended.execution,
      cordoned: true,
      tainted: true,
    });
    expect(run.writes.filter(({ resource }) => resource === 'nodes')).toHaveLength(1);
  });

  test('is drained by eviction, within the budget and before its claim is deleted', () => {
    const asked = deletionAsked(run.claimChanges, claim?.metadata.uid ?? '') ?? 0;
    expect(workload).toHaveLength(webApps.length);
    for (const { metadata } of workload) {
      expect(disruptionOf(run.podChanges, metadata.uid)).toBe('EvictionByEvictionAPI');
      expect(goneAt(run.podChanges, metadata.uid)).toBeLessThan(asked);
    }
    // At some moment one pod less than there are to be, and never two.
    expect(lowestAvailability(run.podChanges, webApps)).toBe(webReplicas - 1);
    const evictions = run.writes.filter(({ subresource }) => subresource === 'eviction');
    // The budget kept the second pod back until the first was Ready elsewhere.
    expect(evictions.map(({ code }) => code)).toContain(429);
    const granted = evictions.filter(({ code }) => code === 201);
    const [restarts, drained] = [
      granted.filter(({ namespace }) => namespace === 'kube-system'),
      granted.filter(({ namespace }) => namespace !== 'kube-system'),
    ];
    expect(restarts).toHaveLength(1);
    expect(drained.map(uidAskedFor).sort()).toEqual(workload.map((pod) => pod.metadata.uid).sort());
  });

  test('is deleted through its claim, and Karpenter brings another that is well', async () => {
    expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([
      {
        verb: 'delete',
        resource: 'nodeclaims',
        name: claim?.metadata.name,
        code: 200,
        body: expect.objectContaining({ preconditions: { uid: claim?.metadata.uid } }),
      },
    ]);
    expect(await node(cluster.client(), victim.metadata.name)).toBeUndefined();
    const replacement = only(await newNodes(run, 'general')).metadata.name;
    expect(ended.message).toContain(replacement);
    const there = await podsOf(cluster.client(), { node: replacement, daemonSet: cni });
    expect(there.map(isReady)).toEqual([true]);
    await allWell(cluster);
  });

  test('is the only node that was written to', async () => {
    await expectOnlyWrittenTo(run, [victim.metadata.name]);
  });
});

describe('a node whose agent cannot pull its image, with nothing to compare it with', () => {
  let victim: Node;
  let run: ObservedRun;
  let ended: Ended;

  beforeAll(async () => {
    [victim] = await twoOf('canary');
    await breakPod(cluster, { node: victim.metadata.name, daemonSet: agent }, 'image-pull');
    run = await observe(cluster, { config: quickConfig(), nodes: [victim.metadata.name] });
    ended = only(run.ended);
  });

  test('is taken as the canary: its pod restarted first, then replaced', () => {
    expect(ended).toMatchObject({ code: 'replaced', cause: 'image-pull', blame: 'unclear' });
    const tasks = withoutRepeats(ended.tasks);
    expect(tasks.indexOf('RestartDaemonPod')).toBeGreaterThan(tasks.indexOf('IsolateNode'));
    expect(tasks.indexOf('TaintNode')).toBeGreaterThan(tasks.indexOf('RestartDaemonPod'));
    expect(run.attempts).toEqual([victim.metadata.name]);
    expect(run.slots).toEqual([]);
  });

  test('is tainted only after hold-down, since the taint keeps the agent out', () => {
    const states = statesOf(run, victim.metadata.uid);
    const cordoned = states.find(({ spec }) => spec.unschedulable);
    expect(cordoned && hasOwnTaint(cordoned)).toBe(false);
    expect(cordoned && markOf(cordoned)).toMatchObject({ cordoned: true, tainted: false });
    const tainted = states.find(hasOwnTaint);
    expect(tainted && markOf(tainted)).toMatchObject({ cordoned: true, tainted: true });
    // The restarted pod came back between the two, and the fault with it.
    const agents = run.podChanges
      .map(({ object }) => object)
      .filter(({ spec }) => spec.nodeName === victim.metadata.name)
      .filter(({ metadata }) => metadata.labels?.app === 'agent');
    expect(new Set(agents.map(({ metadata }) => metadata.uid)).size).toBe(2);
  });

  test('makes room for a node on which the agent runs', async () => {
    const replacement = only(await newNodes(run, 'canary')).metadata.name;
    const there = await podsOf(cluster.client(), { node: replacement, daemonSet: agent });
    expect(there.map(isReady)).toEqual([true]);
    await allWell(cluster);
    await expectOnlyWrittenTo(run, [victim.metadata.name]);
  });
});

describe('faults that go away in hold-down', () => {
  let healed: Node;
  let foreign: Node;
  let bystander: Node;
  let run: ObservedRun;

  beforeAll(async () => {
    let witness: Node;
    [healed, bystander] = await twoOf('general');
    [foreign, witness] = await twoOf('canary');
    // One node cordoned by a person has the gap, too; one has nothing to do with it.
    for (const { metadata } of [foreign, bystander]) {
      await cluster.kubectl(['cordon', metadata.name]);
    }
    for (const { metadata } of [healed, foreign]) {
      await breakPod(cluster, { node: metadata.name, daemonSet: cni }, 'never-ready');
    }
    const names = [healed.metadata.name, foreign.metadata.name];
    run = await observe(cluster, {
      config: quickConfig({ breaker: { maxUnhealthyPercent: 50 } }),
      nodes: names,
      // Two nodes fail alike, so the witness has to come later than the pod grace.
      afterFirstScan: async () => {
        await sleep(4_000);
        await restartPod(cluster, { node: witness.metadata.name, daemonSet: cni });
      },
      meanwhile: async (seen) => {
        await waitFor(
          () => names.every((name) => seen.changes.some(({ object }) => isMarked(object, name))),
          { timeout: 60_000, what: 'both nodes to be isolated' },
        );
        await cluster.injector.clear();
      },
    });
  });

  function isMarked(object: Node, name: string): boolean {
    return object.metadata.name === name && markOf(object) !== undefined;
  }

  test('end recovered, with nothing drained or deleted', () => {
    expect(run.ended.map(({ code }) => code)).toEqual(['recovered', 'recovered']);
    for (const { tasks } of run.ended) {
      expect(tasks).toContain('ReleaseNode');
      for (const task of ['TaintNode', 'DrainNode', 'ReplaceNode']) {
        expect(tasks).not.toContain(task);
      }
    }
    expect(run.writes.filter(({ verb }) => verb === 'delete')).toEqual([]);
    expect(run.slots).toEqual([]);
  });

  test('leave a node as it was before nodegap came', async () => {
    const now = await node(cluster.client(), healed.metadata.name);
    expect(now && shapeOf(now)).toEqual(shapeOf(healed));
    const marks = statesOf(run, healed.metadata.uid).map(markOf);
    expect(marks).toContainEqual(expect.objectContaining({ cordoned: true, tainted: true }));
  });

  test('leave a node cordoned that somebody else had cordoned', async () => {
    const now = await node(cluster.client(), foreign.metadata.name);
    const before = run.nodesBefore.find(({ metadata }) => metadata.uid === foreign.metadata.uid);
    expect(now?.spec.unschedulable).toBe(true);
    expect(now && shapeOf(now)).toEqual(before && shapeOf(before));
    const states = statesOf(run, foreign.metadata.uid);
    expect(states.map(markOf)).toContainEqual(
      expect.objectContaining({ cordoned: false, tainted: false }),
    );
    expect(states.every(({ spec }) => spec.unschedulable)).toBe(true);
  });

  test('touch no other node, cordoned or not', async () => {
    await expectOnlyWrittenTo(run, [healed.metadata.name, foreign.metadata.name]);
    const now = await node(cluster.client(), bystander.metadata.name);
    expect(now?.spec.unschedulable).toBe(true);
  });

  test('leave an Event where people look', async () => {
    const { name } = healed.metadata;
    const events = await cluster
      .client('reader')
      .list<KubernetesEvent>('/api/v1/events?fieldSelector=involvedObject.kind%3DNode');
    const said = events.filter(({ reason }) => reason === 'NodegapRecovered');
    expect(said.map(({ involvedObject }) => involvedObject.uid).sort()).toEqual(
      [healed.metadata.uid, foreign.metadata.uid].sort(),
    );
    expect(await cluster.kubectl(['describe', 'node', name])).toContain('NodegapRecovered');
  });
});
