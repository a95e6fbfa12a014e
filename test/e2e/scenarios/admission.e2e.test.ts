/**
 * Nodes that the real Karpenter makes with startup taints, and nodegap that admits them.
 *
 * What was found of the registration race (kubernetes-sigs/karpenter#1772) in Karpenter 1.14.1, and
 * is shown by the first two tests: Karpenter adds every startup taint of the NodeClaim that the node
 * lacks in the one merge patch (with the resourceVersion that it read) that also takes
 * `karpenter.sh/unregistered` off and sets `karpenter.sh/registered=true`. A startup taint that was
 * taken off before is back after it. And it does all of that again, label or not, as long as the
 * NodeClaim's condition `Registered` was not written: when that write fails, a taint comes back on a
 * node that already bears `karpenter.sh/registered=true`, and even `karpenter.sh/initialized=true`.
 * So the label is what to wait for, and no proof that the taint stays off.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Node, Taint } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { launched, neverByItself, registerNode } from '../support/kubelet.ts';
import { Recorder } from '../support/recorder.ts';
import { Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import {
  bears,
  initializedLabel,
  isLabelled,
  loseRegistration,
  nodeOf,
  ownTaint,
  registeredLabel,
  scaleWorkload,
  statesIn,
  untaint,
} from '../support/startup.ts';

const unregistered: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

/** A pool whose nodes are born with the scene's taint, as the kubelet's `--register-with-taints`. */
async function bornTainted(name: string): Promise<Scene> {
  const own = ownTaint(name);
  const pool = { startupTaints: [own], registrationDelay: neverByItself };
  return Scene.make(cluster, { name, nodes: 0, pool });
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
  await nodeOf(scene, 'to be registered', (found) => isLabelled(found, registeredLabel));
  const states = statesIn(seen, node);
  await seen.stop();
  const before = states.findLast((state) => bears(state, unregistered));
  const after = states.find((state) => !bears(state, unregistered));
  expect(before && bears(before, own)).toBe(false);
  // One write: there is no moment between the two.
  expect(after && bears(after, own)).toBe(true);
  expect(after && isLabelled(after, registeredLabel)).toBe(true);
});

test('Karpenter puts a startup taint back on a registered node whose registration it could not write down', async () => {
  const scene = await bornTainted('lost');
  const own = ownTaint(scene.name);
  await scaleWorkload(scene, 1);
  const claim = await launched(cluster, scene.name);
  const allow = await loseRegistration(cluster.client(), claim);
  const seen = await Recorder.start<Node>(cluster.client(), '/api/v1/nodes');
  const node = await registerNode(cluster, claim, [own]);
  for (const label of [registeredLabel, initializedLabel]) {
    await nodeOf(scene, `with ${label}`, (found) => {
      return isLabelled(found, label) && bears(found, own);
    });
    await untaint(scene, node, own);
  }
  await nodeOf(scene, 'with the taint again', (found) => bears(found, own));
  const registered = statesIn(seen, node).filter((state) => isLabelled(state, registeredLabel));
  await seen.stop();
  const returns = registered.filter(
    (state, index) => index > 0 && bears(state, own) && !bears(registered[index - 1] as Node, own),
  );
  expect(returns.length).toBeGreaterThanOrEqual(2);
  expect(returns.some((state) => isLabelled(state, initializedLabel))).toBe(true);
  await allow();
});
