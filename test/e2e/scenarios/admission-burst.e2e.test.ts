/** Many nodes at once with startup taints: what admitting them asks of the API server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DaemonSet } from '../../../lib/kubernetes/objects.ts';
import { mostPatches } from '../../../lib/prevention/change-nodes.ts';
import { writesIn } from '../harness/audit.ts';
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts';
import { applyDaemonSet, applyNode } from '../harness/objects.ts';
import { nodes } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { Operator, quickConfig } from '../support/operator.ts';
import { prepare } from '../support/rbac.ts';
import { patientNodes } from '../support/scene-cluster.ts';
import { bears, ofAgent, ownTaint, soak } from '../support/startup.ts';

const size = 250;
const names = Array.from({ length: size }, (_, index) => `burst-${index}`);
const own = ownTaint('burst');

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane({
    flags: { 'kube-controller-manager': [patientNodes] },
    kwokParallelism: 16,
  });
  await prepare(cluster);
  const client = cluster.client();
  await applyDaemonSet(client, { name: 'agent' });
  const todo = [...names];
  const worker = async () => {
    for (let name = todo.shift(); name !== undefined; name = todo.shift()) {
      await applyNode(client, { name, taints: [own, ofAgent] });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  await waitFor(
    async () => {
      const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/agent';
      return (await client.get<DaemonSet>(path)).status.numberReady === size;
    },
    { timeout: 300_000, interval: 1_000, what: `${size} pods to be Ready` },
  );
  await sleep(soak * 1_000);
});
afterAll(() => cluster?.stop());

function config(mode: 'observe' | 'act') {
  const { config: base } = quickConfig();
  return quickConfig({
    clusters: base.clusters.map((each) => ({ ...each, mode })),
    requiredDaemonSets: [{ by: 'name', name: 'agent', action: 'replace', startupTaint: 'burst' }],
    timings: { nodeGrace: 3600, startupSoak: soak, startupDeadline: 3600 },
  });
}

test('mode observe finds them and writes nothing', async () => {
  const actuator = cluster.newActuator();
  const operator = await Operator.connect(cluster, config('observe'), { actuator });
  try {
    await operator.scan();
    await waitFor(() => operator.passes.length > 0, {
      timeout: 120_000,
      what: 'a pass',
      describe: () => operator.trace(),
    });
  } finally {
    await operator.stop();
  }
  expect(operator.trace()).toContain('would admit');
  expect(writesIn(actuator.audit())).toEqual([]);
  expect((await nodes(cluster.client())).filter((node) => bears(node, own))).toHaveLength(size);
});

test(`${size} nodes that are Ready at once are admitted in a few passes of a few requests`, async () => {
  const actuator = cluster.newActuator();
  const operator = await Operator.connect(cluster, config('act'), { actuator });
  try {
    await operator.scan();
    await waitFor(async () => !(await nodes(cluster.client())).some((node) => bears(node, own)), {
      timeout: 300_000,
      interval: 500,
      what: 'all to be admitted',
      describe: () => operator.trace(),
    });
  } finally {
    await operator.stop();
  }
  const requests = actuator.audit();
  const patched = requests.filter(({ verb, resource }) => verb === 'patch' && resource === 'nodes');
  expect(patched.map(({ name }) => name).sort()).toEqual([...names].sort());
  // None was tried in vain, and the rest is one scan and some lists a pass, however many nodes.
  expect(patched.every(({ code }) => code === 200)).toBe(true);
  const asked = requests.length - patched.length;
  expect(asked).toBeLessThanOrEqual(10 + 5 * operator.passes.length);
  expect(operator.passes.every(({ admitted }) => admitted <= mostPatches)).toBe(true);
  expect((await nodes(cluster.client())).every((node) => bears(node, ofAgent))).toBe(true);
});
