/**
 * The moment in which the real Karpenter registers a node that bears startup taints.
 *
 * What was found of the race there (kubernetes-sigs/karpenter#1772) in Karpenter 1.14.1, and
 * is shown by the first two tests: Karpenter adds every startup taint of the NodeClaim that the node
 * lacks in the one merge patch (with the resourceVersion that it read) that also takes
 * `karpenter.sh/unregistered` off and sets `karpenter.sh/registered=true`. A startup taint that was
 * taken off before is back after it. And it does all of that again, label or not, as long as the
 * NodeClaim's condition `Registered` was not written: when that write fails, a taint comes back on a
 * node that already bears `karpenter.sh/registered=true`, and now and then even on one that bears
 * `karpenter.sh/initialized=true`.
 * So the label is what to wait for, and no proof that the taint stays off.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  conditionOf,
  type Node,
  type NodeClaim,
  type Taint,
} from '../../../lib/kubernetes/objects.ts';
import { writesIn } from '../harness/audit.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { isReady, nodeClaims } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { launched, neverByItself, registerNode } from '../support/kubelet.ts';
import { Recorder } from '../support/recorder.ts';
import { Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import {
  admitting,
  bears,
  expectOnlyTakenOff,
  isLabelled,
  loseRegistration,
  nodeOf,
  ownTaint,
  registeredLabel,
  scaleWorkload,
  soak,
  statesIn,
  taint,
  takenIn,
  untaint,
} from '../support/startup.ts';

/** A machine may be several times slower than the one that this was written on. */
const patience = 180_000;
const unregistered: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

/** Waits until Karpenter has written down that the machine's node is registered. */
async function noted(scene: Scene, { metadata }: NodeClaim): Promise<void> {
  // A change of the claim makes Karpenter look at once, and not after its pause.
  await cluster.kubectl(['annotate', 'nodeclaim', metadata.name, 'nodegap-test/look=now']);
  await waitFor(
    async () => {
      const claims = await nodeClaims(cluster.client());
      const found = claims.find((claim) => claim.metadata.name === metadata.name);
      return conditionOf(found?.status.conditions, 'Registered')?.status === 'True';
    },
    {
      timeout: patience,
      what: `the registration of ${metadata.name} to be noted`,
      describe: () => scene.describe(),
    },
  );
}

const isRegistered = (node: Node) => isLabelled(node, registeredLabel);

/** A pool whose nodes are born with the scene's taint, as the kubelet's `--register-with-taints`. */
async function bornTainted(name: string): Promise<Scene> {
  const own = ownTaint(name);
  const pool = { startupTaints: [own], registrationDelay: neverByItself };
  return Scene.make(cluster, { name, nodes: 0, pool });
}

async function agentReadyOn(scene: Scene, { metadata }: Node): Promise<void> {
  await waitFor(async () => (await scene.agentOn(metadata.name)).some(isReady), {
    timeout: patience,
    what: `the DaemonSet to be Ready on ${metadata.name}`,
    describe: () => scene.describe(),
  });
}

test('Karpenter puts a startup taint back that was taken off before it has registered the node', async () => {
  const scene = await bornTainted('early');
  const own = ownTaint(scene.name);
  await scaleWorkload(scene, 1);
  const claim = await launched(cluster, scene.name);
  const seen = await Recorder.start<Node>(cluster.client(), '/api/v1/nodes');
  cluster.signal('karpenter', 'SIGSTOP');
  const node = await registerNode(cluster, claim, [own]);
  await untaint(scene, node, own);
  cluster.signal('karpenter', 'SIGCONT');
  await waitFor(() => statesIn(seen, node).some(isRegistered), {
    timeout: patience,
    what: 'the node to be registered',
    describe: () => scene.describe(),
  });
  const states = statesIn(seen, node);
  await seen.stop();
  const before = states.findLast((state) => bears(state, unregistered));
  const after = states.find((state) => !bears(state, unregistered));
  expect(before && bears(before, own)).toBe(false);
  // One write: there is no moment between the two.
  expect(after && bears(after, own)).toBe(true);
  expect(after && isRegistered(after)).toBe(true);
  await untaint(scene, node, own);
});

test('Karpenter puts a startup taint back on a registered node whose registration it could not write down', async () => {
  const scene = await bornTainted('lost');
  const own = ownTaint(scene.name);
  await scaleWorkload(scene, 1);
  const claim = await launched(cluster, scene.name);
  const allow = await loseRegistration(cluster.client(), claim);
  const seen = await Recorder.start<Node>(cluster.client(), '/api/v1/nodes');
  const node = await registerNode(cluster, claim, [own]);
  for (let round = 0; round < 2; round += 1) {
    await nodeOf(scene, 'with the taint', (found) => isRegistered(found) && bears(found, own));
    await untaint(scene, node, own);
  }
  await nodeOf(scene, 'with the taint again', (found) => bears(found, own));
  await seen.stop();
  const registered = statesIn(seen, node).filter(isRegistered);
  const came = registered.filter((state, index) => {
    const before = registered[index - 1];
    return before !== undefined && bears(state, own) && !bears(before, own);
  });
  // The recorder may not have heard of the last return yet.
  expect(came.length).toBeGreaterThanOrEqual(1);
  await allow();
  await noted(scene, claim);
  await untaint(scene, node, own);
});

test.concurrent('nothing is taken off before Karpenter has registered the node, and what registration brings back goes again', async () => {
  const scene = await bornTainted('race');
  const own = ownTaint(scene.name);
  await scaleWorkload(scene, 1);
  const claim = await launched(cluster, scene.name);
  let node: Node | undefined;
  const run = await scene.run({
    config: admitting(scene),
    nodes: [],
    meanwhile: async (seen, operator) => {
      cluster.signal('karpenter', 'SIGSTOP');
      try {
        node = await registerNode(cluster, claim, [own]);
        await agentReadyOn(scene, node);
        await sleep(soak * 1000);
        await operator.morePasses(3);
        expect(bears(await scene.node(node.metadata.name), own)).toBe(true);
        expect(writesIn(scene.actuator.audit())).toEqual([]);
        // Somebody else is in a hurry.
        await untaint(scene, node, own);
        await operator.morePasses(1);
      } finally {
        cluster.signal('karpenter', 'SIGCONT');
      }
      await takenIn(scene, 1, [own]);
      const states = statesIn(seen, node);
      expect(states.some((state) => isRegistered(state) && bears(state, own))).toBe(true);
      // Once it has proved itself it need not do so again.
      await scene.break(node.metadata.name, 'never-ready');
      await taint(scene, node, own);
      await nodeOf(scene, 'without the taint again', (found) => !bears(found, own));
      await operator.morePasses(2);
      expect(bears(await scene.node(node.metadata.name), own)).toBe(false);
    },
  });
  if (node === undefined) throw new Error('no node');
  expect(expectOnlyTakenOff(run, node, own)).toBe(2);
  await scene.expectOnlyWrittenTo(run, [node.metadata.name]);
});

test.concurrent('a taint that Karpenter puts back on a registered node again and again goes as often', async () => {
  const scene = await bornTainted('again');
  const own = ownTaint(scene.name);
  await scaleWorkload(scene, 1);
  const claim = await launched(cluster, scene.name);
  const allow = await loseRegistration(cluster.client(), claim);
  let node: Node | undefined;
  const run = await scene.run({
    config: admitting(scene),
    nodes: [],
    meanwhile: async (_seen, operator) => {
      node = await registerNode(cluster, claim, [own]);
      const patches = () => writesIn(scene.actuator.audit()).filter(({ code }) => code === 200);
      await waitFor(() => patches().length >= 2, {
        timeout: patience,
        what: 'the taint to be taken off twice',
        describe: () => operator.trace(),
      });
      await allow();
      await noted(scene, claim);
      await takenIn(scene, 1, [own]);
      await operator.morePasses(2);
      expect(bears(await scene.node(node.metadata.name), own)).toBe(false);
    },
  });
  if (node === undefined) throw new Error('no node');
  expect(expectOnlyTakenOff(run, node, own)).toBeGreaterThanOrEqual(2);
  await scene.expectOnlyWrittenTo(run, [node.metadata.name]);
});
