/**
 * What nodegap says, and leaves behind, when RBAC lacks a single verb of what `nodegap rbac` prints.
 * Every case has an identity of its own, so that all run at the same time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import { readIdleVolumes } from '../../lib/remediation/volumes.ts';
import { writesIn } from './harness/audit.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { applyKarpenterTypes } from './harness/karpenter.ts';
import { isReady } from './harness/state.ts';
import { waitFor } from './harness/wait.ts';
import { allRights, applyPolicy, lacking, nameOf } from './support/lacking.ts';
import { nodegap } from './support/nodegap.ts';
import type { ConfigChanges } from './support/operator.ts';
import { RightsScene } from './support/rights-scene.ts';
import { hasOwnTaint, markOf } from './support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane();
  await applyKarpenterTypes(cluster.client());
  await applyPolicy(cluster);
});

afterAll(() => cluster?.stop());

/** A case for each right; one that `nodegap rbac` gains is missed here. */
const cases: Record<string, (right: string) => Promise<void>> = {
  'list nodes': endsTheScan,
  'list pods': endsTheScan,
  'list daemonsets.apps': endsTheScan,
  'list nodeclaims.karpenter.sh': holdsTheNode,
  'list nodehealthchecks.remediation.medik8s.io': holdsTheNode,
  // Without it the second observer cannot tell (test/remediation/others.test.ts).
  'get leases.coordination.k8s.io': (right) =>
    isRefused(right, (reader, { victim }) => reader.getNodeLease?.(victim)),
  'get nodes': (right) => endsTheAttempt(right, 'IsolateNode', 'untouched'),
  'patch nodes': (right) => isNotBegun(right),
  'create pods/eviction': (right) => isNotBegun(right),
  'list poddisruptionbudgets.policy': (right) => endsTheAttempt(right, 'DrainNode', 'isolated'),
  'list volumeattachments.storage.k8s.io': (right) =>
    endsTheAttempt(right, 'DrainNode', 'isolated'),
  'get pods': (right) => endsTheAttempt(right, 'DrainNode', 'isolated', { force: true }),
  'get nodeclaims.karpenter.sh': endsBeforeTheDrain,
  'list events': endsBeforeTheDrain,
  'delete nodeclaims.karpenter.sh': (right) => isNotBegun(right),
  'delete pods': (right) => isNotBegun(right, forcing, 'nodegap rbac --force-drain'),
  'create events': async (right) => {
    const { scene, kubeconfig } = await prepare(right);
    const { ended, trace } = await scene.attempt(kubeconfig);
    // As with the right: the old node stays, since Karpenter is not there to end it.
    expect(ended.code).toBe('deletion-stuck');
    expectNamed(trace, right, 'an Event could not be written on the node');
  },
  'patch events': async (right) => {
    const { scene, kubeconfig } = await prepare(right);
    const { transport } = await connectFromKubeconfig({ kubeconfigPath: kubeconfig });
    const { uid } = (await scene.node()).metadata;
    const event = {
      node: scene.victim,
      nodeUid: uid,
      type: 'Normal',
      reason: 'NodegapTest',
    } as const;
    const tell = () =>
      createWriter(transport, systemClock).createNodeEvent({ ...event, message: 'said twice' });
    await tell();
    await expect(tell()).rejects.toThrow(`not allowed to ${right}: `);
    transport.close();
  },
  'get persistentvolumeclaims': (right) =>
    isRefused(right, async (reader, scene) => {
      await attachVolume(scene);
      return readIdleVolumes(reader, scene.victim);
    }),
};

test('there is a case for every right that is given, and for no other', () => {
  expect(Object.keys(cases).sort()).toEqual([...new Set(allRights.map(nameOf))].sort());
});

describe('without the right to', () => {
  test.concurrent.each(Object.entries(cases))('%s', (right, run) => run(right));
});

const forcing = {
  drain: { force: { pods: ['budget' as const], grace: 'own' as const } },
  timings: { drain: 3, approval: 3 },
};

async function prepare(right: string) {
  const scene = await RightsScene.make(cluster, right);
  return { scene, ...(await lacking(cluster, right)) };
}

/** That a text says what right is missing, and what to do about it. */
function expectNamed(text: string, right: string, remedy = 'nodegap rbac'): void {
  expect(text).toContain(`not allowed to ${right}: `);
  expect(text).toContain(remedy);
}

/** No gap and no health is told, by neither the command line nor the function. */
async function endsTheScan(right: string): Promise<void> {
  const { scene, kubeconfig } = await prepare(right);
  await scene.breakPod();
  const { code, stdout, stderr } = await nodegap(['scan'], { kubeconfig });
  expect(code, stderr).toBe(1);
  expect(stdout).toBe('');
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringContaining(`error: not allowed to ${right}: `),
    expect.stringMatching(/^hint: .*`nodegap rbac`/),
  ]);
  const operator = await scene.connect(kubeconfig);
  await expect(operator.scan()).rejects.toThrow(`not allowed to ${right}: `);
  expect(operator.attempts()).toEqual([]);
  await operator.stop();
}

/** The gap is seen and told; nothing is done to the node, and people hear why. */
async function holdsTheNode(right: string): Promise<void> {
  const { scene, kubeconfig } = await prepare(right);
  const before = await scene.node();
  await scene.breakPod();
  const operator = await scene.connect(kubeconfig);
  try {
    operator.start();
    const told = await waitFor(
      () =>
        operator.notices
          .map((notice) => JSON.stringify(notice))
          .find((text) => text.includes(`not allowed to ${right}: `)),
      { timeout: 300_000, what: `people to hear of ${right}`, describe: () => operator.trace() },
    );
    expectNamed(told, right);
    expect(operator.scans.at(-1)?.gaps).toBe(1);
    expect(operator.events.map(({ state }) => state)).not.toContain('IsolateNode');
    const now = await scene.node();
    expect([now.spec, markOf(now)]).toEqual([before.spec, undefined]);
  } finally {
    await operator.stop();
  }
}

/** Evidence cannot be had, so that nothing is drained; the node stays isolated and people are told. */
async function endsBeforeTheDrain(right: string): Promise<void> {
  const { scene, kubeconfig } = await prepare(right);
  const { ended, slots, node } = await scene.attempt(kubeconfig, { timings: { drain: 3 } });
  expect(ended.code).toBe('evidence-unsaved');
  expectNamed(ended.message, right);
  expect(slots).toEqual([]);
  expect(markOf(node)).toBeDefined();
  expect((await scene.workloadPods()).every(isReady)).toBe(true);
}

/** A read of which the callers tell elsewhere what they make of it. */
async function isRefused(
  right: string,
  read: (reader: ClusterReader, scene: RightsScene) => Promise<unknown> | undefined,
): Promise<void> {
  const { scene, kubeconfig } = await prepare(right);
  const { reader, transport } = await connectFromKubeconfig({ kubeconfigPath: kubeconfig });
  await expect(read(reader, scene)).rejects.toThrow(`not allowed to ${right}: `);
  transport.close();
}

/** The attempt is refused before its first write: but for Events, nothing was even asked for. */
async function isNotBegun(
  right: string,
  changes: ConfigChanges = {},
  remedy = 'nodegap rbac',
): Promise<void> {
  const { scene, kubeconfig, audit } = await prepare(right);
  const before = await scene.node();
  const { ended, node, slots, trace } = await scene.attempt(kubeconfig, changes);
  expect(ended.code, trace).toBe('rights-missing');
  expectNamed(ended.message, right, `\`${remedy}\``);
  expect(ended.tasks.at(-4), trace).toBe('IsolateNode');
  expect(ended.tasks.slice(-3)).toEqual(['ReleaseNode', 'ReleaseSlot', 'Report']);
  const asked = audit();
  const reviews = asked.filter(({ resource }) => resource === 'selfsubjectaccessreviews');
  expect(reviews.length).toBeGreaterThan(0);
  expect(writesIn(asked).filter(({ resource }) => resource !== 'events')).toEqual([]);
  expect([node.spec, markOf(node)]).toEqual([before.spec, undefined]);
  expect((await scene.workloadPods()).every(isReady)).toBe(true);
  expect(slots).toEqual([]);
}

/**
 * The attempt fails in that state and says why. It leaves a node isolated that was isolated before:
 * a failure undoes nothing (docs/workflow.md), and the next attempt goes on from there.
 */
async function endsTheAttempt(
  right: string,
  state: string,
  left: 'untouched' | 'isolated',
  { force = false } = {},
): Promise<void> {
  const { scene, kubeconfig } = await prepare(right);
  if (force) await scene.forbidEviction();
  const { ended, node, slots, trace } = await scene.attempt(kubeconfig, force ? forcing : {});
  expect(ended.code, trace).toBe('failed');
  expectNamed(ended.message, right);
  expect(ended.tasks.at(-3), trace).toBe(state);
  expect(ended.tasks.slice(-2)).toEqual(['ReleaseSlot', 'Report']);
  expect(slots).toEqual([]);
  const isIsolated = left === 'isolated';
  expect(node.spec.unschedulable === true).toBe(isIsolated);
  expect(markOf(node) !== undefined).toBe(isIsolated);
  if (!isIsolated) expect(hasOwnTaint(node)).toBe(false);
  expect(
    await cluster.client().find(`/apis/karpenter.sh/v1/nodeclaims/${scene.victim}`),
  ).toBeDefined();
}

/** A volume that hangs on the node, and a pod there that may be using it. */
async function attachVolume({ victim, workload }: RightsScene): Promise<void> {
  const client = cluster.client();
  await client.create('/apis/storage.k8s.io/v1/volumeattachments', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: workload },
    spec: { attacher: 'example.com', nodeName: victim, source: { persistentVolumeName: workload } },
  });
  await client.create('/api/v1/namespaces/default/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: workload },
    spec: {
      nodeName: victim,
      containers: [{ name: 'main', image: 'example.invalid/main:1' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  });
}
