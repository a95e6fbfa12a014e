/** What `nodegap scan` says of every fault that the fake kubelet can make. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cause } from '../../lib/gap/model.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { OUTCOMES, type Outcome } from './harness/faults.ts';
import { applyDaemonSet, applyNode } from './harness/objects.ts';
import { isDaemonSetReady, podsOf } from './harness/state.ts';
import { waitFor } from './harness/wait.ts';
import { nodegap, reportOf } from './support/nodegap.ts';
import { applyRbac } from './support/rbac.ts';

const agent = 'kube-system/agent';
const causes: Record<Exclude<Outcome, 'ready'>, Cause> = {
  'never-ready': 'not-ready',
  'gate-unmet': 'not-ready',
  'image-pull': 'image-pull',
  'image-pull-alternating': 'image-pull',
  'config-error': 'config-error',
  sandbox: 'sandbox',
  volume: 'volume',
  starting: 'unknown',
  'crash-loop': 'crash-loop',
  'oom-killed': 'oom-killed',
  'init-crash-loop': 'crash-loop',
  'sidecar-crash-loop': 'crash-loop',
  evicted: 'evicted',
  rejected: 'evicted',
  'rejected-out-of-cpu': 'unschedulable-resources',
  'rejected-node-affinity': 'evicted',
  'stuck-terminating': 'terminating',
};

const folder = mkdtempSync(join(tmpdir(), 'nodegap-causes-'));
const configFile = join(folder, 'nodegap.yaml');

let cluster: ControlPlane;

beforeAll(async () => {
  writeFileSync(
    configFile,
    `
clusters: [{ name: nodegap-e2e, region: eu-west-1 }]
requiredDaemonSets: [{ name: ${agent} }]
timings: { nodeGrace: 1s, podGrace: 2s }
`,
  );
  cluster = await startControlPlane();
  await applyRbac(cluster);
  const client = cluster.client();
  await Promise.all(OUTCOMES.map((name) => applyNode(client, { name })));
  await applyDaemonSet(client, {
    name: 'agent',
    // A kubelet throws no critical pod out.
    priorityClassName: '',
    initContainer: true,
    sidecar: true,
    readinessGate: 'example.com/attached',
  });
  await waitFor(() => isDaemonSetReady(client, agent), {
    timeout: 180_000,
    what: 'the DaemonSet to be Ready',
    describe: () => cluster.kubectl(['get', 'pods', '-A', '-o', 'wide']),
  });
});

afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true });
});

async function causesFound(): Promise<Record<string, string>> {
  const finished = await nodegap(['scan', '--config', configFile, '-o', 'json'], {
    kubeconfig: cluster.kubeconfig('reader'),
  });
  return Object.fromEntries(reportOf(finished).gaps.map(({ node, cause }) => [node, cause]));
}

test('every fault has the cause that it is made for, and heals', async () => {
  const { injector } = cluster;
  for (const outcome of OUTCOMES) {
    await injector.set({ node: outcome, daemonSet: agent }, outcome);
  }
  const [doomed] = await podsOf(cluster.client(), { node: 'stuck-terminating', daemonSet: agent });
  await cluster.client().delete(`/api/v1/namespaces/kube-system/pods/${doomed?.metadata.name}`);
  let found: Record<string, string> = {};
  await waitFor(
    async () => {
      found = await causesFound();
      return Object.entries(causes).every(([node, cause]) => found[node] === cause);
    },
    {
      timeout: 180_000,
      interval: 2_000,
      what: 'the causes',
      describe: () => JSON.stringify(found, null, 1),
    },
  );
  expect(found).toEqual(causes);

  await injector.clear();
  await waitFor(() => isDaemonSetReady(cluster.client(), agent), {
    timeout: 300_000,
    what: 'the DaemonSet to be Ready again',
    describe: () => cluster.kubectl(['get', 'pods', '-A', '-o', 'wide']),
  });
});
