import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { conditionOf, type Pod } from '../../lib/kubernetes/objects.ts';
import { buildTools } from './harness/build.ts';
import { ApiError } from './harness/client.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { applyDaemonSet, applyDeployment, applyNode, applyNodePool } from './harness/objects.ts';
import {
  isDaemonSetReady,
  isReady,
  node,
  nodeClaims,
  nodes,
  pods,
  podsOf,
  setNodeCondition,
  startKubelet,
  stopKubelet,
} from './harness/state.ts';
import { programPath } from './harness/tools.ts';
import { waitFor } from './harness/wait.ts';

const CNI = 'kube-system/cni';
const WORKERS = ['worker-1', 'worker-2', 'worker-3'];

/** As envtest lays it out, but that whatever is started from it leaves a trace. */
const assets = mkdtempSync(join(tmpdir(), 'nodegap-assets-'));

let cluster: ControlPlane;

beforeAll(async () => {
  // With the variable set, nobody builds these two.
  await buildTools(console.error);
  for (const program of ['etcd', 'kube-apiserver'] as const) {
    const trace = join(assets, `${program}.started`);
    const wrapper = `#!/bin/sh\ntouch '${trace}'\nexec '${programPath(program)}' "$@"\n`;
    writeFileSync(join(assets, `${program}.sh`), wrapper, { mode: 0o755 });
    symlinkSync(`${program}.sh`, join(assets, program));
  }
  vi.stubEnv('KUBEBUILDER_ASSETS', assets);
  cluster = await startControlPlane({ karpenter: true, heartbeatSeconds: 5 });
  const client = cluster.client();
  for (const name of WORKERS) await applyNode(client, { name, labels: { pool: 'fixed' } });
  await applyDaemonSet(client, { name: 'cni' });
});

afterEach(() => cluster.injector.clear());

afterAll(async () => {
  await cluster?.stop();
  rmSync(assets, { recursive: true });
});

/** Waits for the one pod of the pair which satisfies the check. */
function podOn(nodeName: string, what: string, check: (pod: Pod) => boolean): Promise<Pod> {
  return waitFor(
    async () => {
      const [pod, ...others] = await podsOf(cluster.client(), { node: nodeName, daemonSet: CNI });
      return pod !== undefined && others.length === 0 && check(pod) ? pod : undefined;
    },
    {
      timeout: 30_000,
      what: `the pod of ${CNI} on ${nodeName} to be ${what}`,
      describe: () => cluster.kubectl(['get', 'pods', '-A', '-o', 'wide']),
    },
  );
}

function daemonSetReady(): Promise<boolean> {
  return waitFor(() => isDaemonSetReady(cluster.client(), CNI), {
    timeout: 60_000,
    what: `${CNI} to be Ready everywhere`,
    describe: () => cluster.kubectl(['get', 'pods', '-A', '-o', 'wide']),
  });
}

function waitingReason(pod: Pod): string | undefined {
  return pod.status.containerStatuses?.[0]?.state?.waiting?.reason;
}

function lastEnd(pod: Pod): string | undefined {
  return pod.status.containerStatuses?.[0]?.lastState?.terminated?.reason;
}

test('the API server reports the version it was built from', async () => {
  const { gitVersion } = await cluster.client().get<{ gitVersion: string }>('/version');
  expect(gitVersion).toMatch(/^v1\.\d+\.\d+$/);
});

describe('KUBEBUILDER_ASSETS', () => {
  test('its etcd and API server are those that run', () => {
    expect(existsSync(join(assets, 'etcd.started'))).toBe(true);
    expect(existsSync(join(assets, 'kube-apiserver.started'))).toBe(true);
  });

  test.each([
    ['is not there', () => undefined],
    ['may not be executed', (file: string) => writeFileSync(file, '', { mode: 0o644 })],
    ['is no file', (file: string) => mkdirSync(file)],
  ])('a program that %s is an error, in one line', async (trouble, make) => {
    const folder = mkdtempSync(join(assets, 'wrong-'));
    symlinkSync(join(assets, 'etcd'), join(folder, 'etcd'));
    make(join(folder, 'kube-apiserver'));
    vi.stubEnv('KUBEBUILDER_ASSETS', folder);
    try {
      await expect(startControlPlane()).rejects.toThrow(
        `KUBEBUILDER_ASSETS=${folder}: kube-apiserver ${trouble}; put one there, or unset the variable to use the one that is built`,
      );
    } finally {
      vi.stubEnv('KUBEBUILDER_ASSETS', assets);
    }
  });
});

describe('faults', () => {
  test('a DaemonSet on three fake nodes becomes Ready', async () => {
    await daemonSetReady();
    for (const name of WORKERS) {
      expect(isReady(await podOn(name, 'Ready', isReady))).toBe(true);
    }
  });

  test('a fault of one pair holds for its present and its next pod, and for no other', async () => {
    await daemonSetReady();
    await cluster.injector.set({ node: 'worker-2', daemonSet: CNI }, 'never-ready');
    const broken = await podOn('worker-2', 'un-Ready', (pod) => !isReady(pod));
    await cluster.kubectl(['delete', 'pod', '-n', 'kube-system', broken.metadata.name]);
    const next = await podOn('worker-2', 'a new pod that runs', (pod) => {
      return pod.metadata.uid !== broken.metadata.uid && pod.status.phase === 'Running';
    });
    expect(conditionOf(next.status.conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
    });
    expect(isReady(await podOn('worker-1', 'Ready', isReady))).toBe(true);
    expect(isReady(await podOn('worker-3', 'Ready', isReady))).toBe(true);
  });

  test('every fault shows as a kubelet shows it, and heals', async () => {
    const pair = { node: 'worker-1', daemonSet: CNI };
    const { injector } = cluster;
    await injector.set(pair, 'image-pull');
    await podOn('worker-1', 'without image', (pod) => waitingReason(pod) === 'ImagePullBackOff');
    await injector.set(pair, 'config-error');
    await podOn('worker-1', 'without its configuration', (pod) => {
      return waitingReason(pod) === 'CreateContainerConfigError';
    });
    await injector.set(pair, 'sandbox');
    await podOn('worker-1', 'without sandbox', (pod) => waitingReason(pod) === 'ContainerCreating');
    await injector.set(pair, 'oom-killed');
    await podOn('worker-1', 'out of memory', (pod) => lastEnd(pod) === 'OOMKilled');
    await injector.set(pair, 'crash-loop');
    const crashing = await podOn('worker-1', 'in a crash loop', (pod) => lastEnd(pod) === 'Error');
    const restarts = (pod: Pod) => pod.status.containerStatuses?.[0]?.restartCount ?? 0;
    await podOn('worker-1', 'restarted again', (pod) => restarts(pod) > restarts(crashing));
    const reasons = await cluster.kubectl([
      ...['get', 'events', '-n', 'kube-system', '--field-selector', 'type=Warning'],
      ...['-o', 'jsonpath={.items[*].reason}'],
    ]);
    expect(reasons.split(' ')).toEqual(
      expect.arrayContaining(['Unhealthy', 'Failed', 'FailedCreatePodSandBox', 'BackOff']),
    );
    await injector.set(pair, 'ready');
    await podOn('worker-1', 'healed', isReady);
  });

  test('a fault until restart leaves the next pod alone', async () => {
    await daemonSetReady();
    const pair = { node: 'worker-3', daemonSet: CNI };
    await cluster.injector.set(pair, 'crash-loop', { until: 'restart' });
    const broken = await podOn('worker-3', 'in a crash loop', (pod) => lastEnd(pod) === 'Error');
    await cluster.kubectl(['delete', 'pod', '-n', 'kube-system', broken.metadata.name]);
    await podOn('worker-3', 'a new, Ready pod', (pod) => {
      return pod.metadata.uid !== broken.metadata.uid && isReady(pod);
    });
  });

  test('a pod that never goes away', async () => {
    await daemonSetReady();
    await cluster.injector.set({ node: 'worker-3', daemonSet: CNI }, 'stuck-terminating');
    const args = ['delete', 'pod', '-n', 'kube-system', '--wait=false'];
    const { metadata } = await podOn('worker-3', 'Ready', isReady);
    await cluster.kubectl([...args, metadata.name]);
    await podOn('worker-3', 'terminating', (pod) => pod.metadata.deletionTimestamp !== undefined);
    await expect(
      waitFor(
        async () => {
          const [pod] = await podsOf(cluster.client(), { node: 'worker-3', daemonSet: CNI });
          return pod?.metadata.uid !== metadata.uid;
        },
        { timeout: 2_000, what: 'the stuck pod to go' },
      ),
    ).rejects.toThrow('timed out after 2 s waiting for the stuck pod to go');
    await cluster.injector.clear();
    await podOn('worker-3', 'a new pod', (pod) => pod.metadata.uid !== metadata.uid);
  });
});

describe('nodes', () => {
  test('a condition set by hand stays', async () => {
    const client = cluster.client();
    const since = new Date('2026-01-01T00:00:00Z');
    await setNodeCondition(client, 'worker-1', {
      type: 'NetworkingReady',
      status: 'False',
      reason: 'Broken',
      since,
    });
    const conditions = (await node(client, 'worker-1'))?.status.conditions;
    expect(conditionOf(conditions, 'NetworkingReady')).toMatchObject({
      status: 'False',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect(conditionOf(conditions, 'Ready')?.status).toBe('True');
  });

  test('a node whose kubelet falls silent becomes Unknown, and comes back', async () => {
    const client = cluster.client();
    const ready = async () => {
      return conditionOf((await node(client, 'worker-2'))?.status.conditions, 'Ready')?.status;
    };
    await waitFor(async () => (await ready()) === 'True', { timeout: 10_000, what: 'Ready' });
    await stopKubelet(client, 'worker-2');
    await waitFor(async () => (await ready()) === 'Unknown', {
      timeout: 60_000,
      what: 'worker-2 to be Unknown',
    });
    await startKubelet(client, 'worker-2');
    await waitFor(async () => (await ready()) === 'True', {
      timeout: 60_000,
      what: 'worker-2 to be Ready again',
    });
  });
});

describe('heartbeats', () => {
  test('a node that is changed all the time reports all the same, and keeps a pressure', async () => {
    const client = cluster.client();
    const heartbeat = async () =>
      conditionOf((await node(client, 'worker-3'))?.status.conditions, 'Ready')?.lastHeartbeatTime;
    await setNodeCondition(client, 'worker-3', {
      type: 'DiskPressure',
      status: 'True',
      reason: 'KubeletHasDiskPressure',
    });
    const first = await heartbeat();
    let changes = 0;
    // Sooner each time than a report is due, which is after 5 seconds.
    await waitFor(
      async () => {
        changes += 1;
        const labels = { changes: String(changes) };
        await client.patch('/api/v1/nodes/worker-3', { metadata: { labels } });
        return (await heartbeat()) !== first;
      },
      { timeout: 120_000, interval: 1_000, what: 'a heartbeat' },
    );
    const conditions = (await node(client, 'worker-3'))?.status.conditions;
    expect(conditionOf(conditions, 'DiskPressure')?.status).toBe('True');
    await setNodeCondition(client, 'worker-3', {
      type: 'DiskPressure',
      status: 'False',
      reason: 'KubeletHasNoDiskPressure',
    });
  });
});

describe('Karpenter', () => {
  test('provisions nodes, and a new one for a NodeClaim that is deleted', async () => {
    const client = cluster.client();
    const pool = 'karpenter.sh/nodepool=default';
    await applyNodePool(client, { name: 'default', terminationGracePeriod: '30s' });
    await applyDeployment(client, {
      name: 'web',
      replicas: 3,
      spread: true,
      nodeSelector: { 'karpenter.sh/nodepool': 'default' },
    });
    const initialized = async () => {
      const all = await nodes(client, `${pool},karpenter.sh/initialized=true`);
      const running = (await pods(client, 'default', 'web')).filter(isReady);
      return all.length === 3 && running.length === 3 ? all : undefined;
    };
    const describeNodes = () => cluster.kubectl(['get', 'nodes,nodeclaims,pods', '-A']);
    const first = await waitFor(initialized, {
      timeout: 60_000,
      what: 'three Karpenter nodes with the workload',
      describe: describeNodes,
    });
    await daemonSetReady();

    const [victim] = await nodeClaims(client);
    expect(victim?.status.providerID).toMatch(/^kwok:\/\//);
    const name = victim?.metadata.name ?? '';
    await client.delete(`/apis/karpenter.sh/v1/nodeclaims/${name}`);
    await waitFor(
      async () => !(await nodeClaims(client)).some((claim) => claim.metadata.name === name),
      { timeout: 60_000, what: `${name} to be gone`, describe: describeNodes },
    );
    const second = await waitFor(initialized, {
      timeout: 60_000,
      what: 'a replacement with the workload',
      describe: describeNodes,
    });
    const names = (list: typeof first) => list.map((item) => item.metadata.name);
    expect(names(second)).not.toContain(victim?.status.nodeName);
    expect(names(second).filter((item) => !names(first).includes(item))).toHaveLength(1);
    await daemonSetReady();
  });
});

describe('identities', () => {
  test('reader and actuator may do nothing before they are given RBAC', async () => {
    for (const identity of ['reader', 'actuator'] as const) {
      const refused = cluster.client(identity).get('/api/v1/nodes');
      await expect(refused).rejects.toThrow(ApiError);
      await expect(refused).rejects.toMatchObject({ status: 403, reason: 'Forbidden' });
    }
  });

  test('RBAC of the group nodegap:reader is what reader may do', async () => {
    await cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'ClusterRole',
            metadata: { name: 'harness-test' },
            rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }],
          },
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'ClusterRoleBinding',
            metadata: { name: 'harness-test' },
            roleRef: {
              apiGroup: 'rbac.authorization.k8s.io',
              kind: 'ClusterRole',
              name: 'harness-test',
            },
            subjects: [
              { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'nodegap:reader' },
            ],
          },
        ],
      }),
    });
    const reader = cluster.client('reader');
    const seen = await waitFor(() => nodes(reader), { timeout: 5_000, what: 'the new RBAC' });
    expect(seen.length).toBeGreaterThanOrEqual(WORKERS.length);
    await expect(reader.list('/api/v1/pods')).rejects.toMatchObject({ status: 403 });
    const output = await cluster.kubectl(['get', 'nodes', '-o', 'name'], { identity: 'reader' });
    expect(output).toContain('node/worker-1');
  });
});
