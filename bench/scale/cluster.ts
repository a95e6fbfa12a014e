/**
 * The cluster of `npm run scale`: pools of Karpenter's nodes, ten DaemonSets on each, and workloads
 * whose budgets are in the way of a drain.
 *
 * How it works: one pod of the Deployment `shard-POOL` fills more than half of a node, so Karpenter
 * makes a node for each, and another one when it is evicted. Pods of `web-POOL` are small and go
 * wherever there is room.
 */
import type { DaemonSet, Node } from '../../lib/kubernetes/objects.ts';
import type { KubeClient } from '../../test/e2e/harness/client.ts';
import { type ControlPlane, startControlPlane } from '../../test/e2e/harness/control-plane.ts';
import {
  applyDaemonSet,
  applyDeployment,
  applyPdb,
  nodePoolManifests,
} from '../../test/e2e/harness/objects.ts';
import { isReady, nodes } from '../../test/e2e/harness/state.ts';
import { waitFor } from '../../test/e2e/harness/wait.ts';
import { applyRbac, policyInForce } from '../../test/e2e/support/rbac.ts';
import { catalogue } from '../daemonsets.ts';
import { type PoolPlan, poolsOf } from './plan.ts';
import type { Workload } from './workloads.ts';

export interface ScaleCluster {
  controlPlane: ControlPlane;
  pools: PoolPlan[];
  workloads: Workload[];
  /** Names of the nodes by pool, in the order of the pools. */
  nodesByPool: string[][];
}

/** Of kwok's, so that one shard fills more than half of it. */
const instanceType = 's-4x-amd64-linux';
const shard = { cpu: '2200m', memory: '4Gi' };
const small = { cpu: '50m', memory: '64Mi' };
const smallPerNode = 2;
const maxUnavailable = 2;
/**
 * Leases are renewed every quarter of it. Every 5 s, as in tests, a thousand of them would keep the
 * API server busy with nothing else; EKS has every 10 s, on more than two cores.
 */
const leaseSeconds = 400;
const clientQps = 1_000;
/** Of every step in making the cluster, on a machine that is busy with other things. */
const patienceMs = 45 * 60_000;

/** The control plane, with flags for many nodes on few cores. */
export function startForScale(log: (line: string) => void): Promise<ControlPlane> {
  return startControlPlane({
    karpenter: true,
    log,
    clientQps,
    kwokParallelism: 16,
    flags: {
      etcd: [`--quota-backend-bytes=${8 * 1024 ** 3}`],
      'kube-apiserver': ['--max-requests-inflight=800', '--max-mutating-requests-inflight=400'],
      'kube-controller-manager': [
        `--node-monitor-grace-period=${2 * leaseSeconds}s`,
        '--node-monitor-period=10s',
        '--concurrent-daemonset-syncs=10',
        '--concurrent-deployment-syncs=8',
        '--concurrent-replicaset-syncs=8',
      ],
      kwok: [`--node-lease-duration-seconds=${leaseSeconds}`],
      karpenter: [
        `-kube-client-qps=${clientQps}`,
        `-kube-client-burst=${2 * clientQps}`,
        '-batch-max-duration=10s',
        '-batch-idle-duration=1s',
        '-cpu-requests=2000',
        '-log-level=error',
      ],
    },
  });
}

/** Makes everything and waits until all of it is Ready. */
export async function populate(
  controlPlane: ControlPlane,
  size: number,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<ScaleCluster> {
  const client = controlPlane.client();
  const pools = poolsOf(size);
  await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'observability' } });
  for (const { name, namespace, critical } of catalogue) {
    // Without a class of its own a pod has priority 0, as add-ons of that kind often have.
    const priority = critical ? {} : { priorityClassName: '' };
    await applyDaemonSet(client, { name, namespace, requests: small, ...priority });
  }
  for (const pool of pools) await makePool(client, pool);
  const shards = pools.map((pool) => workload('shard', pool, pool.nodes));
  for (const each of shards) await deploy(client, each, shard);
  await nodesReady(client, size, log, signal);
  await applyRbac(controlPlane);
  const webs = pools.map((pool) => workload('web', pool, smallPerNode * pool.nodes));
  for (const each of webs) await deploy(client, each, small);
  const workloads = [...shards, ...webs];
  await podsReady(client, size * (catalogue.length + 1 + smallPerNode), log, signal);
  const all = await nodes(client);
  await policyInForce(controlPlane, all[0]?.metadata.name ?? '');
  return { controlPlane, pools, workloads, nodesByPool: pools.map((pool) => namesIn(all, pool)) };
}

/** How many pods of Deployments are available, by what their controller counts. */
export async function availablePods(client: KubeClient): Promise<number> {
  const deployments = await client.list<{ status?: { availableReplicas?: number } }>(
    '/apis/apps/v1/deployments',
  );
  return deployments.reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0);
}

async function makePool(client: KubeClient, { name, zone }: PoolPlan): Promise<void> {
  for (const manifest of nodePoolManifests({ name, zone })) {
    if (manifest.kind === 'NodePool') {
      // One type only: a shard on a larger node would have others beside it.
      const { template } = manifest.spec as { template: { spec: { requirements: object[] } } };
      template.spec.requirements.push({
        key: 'node.kubernetes.io/instance-type',
        operator: 'In',
        values: [instanceType],
      });
    }
    await client.apply(manifest);
  }
}

function workload(kind: string, pool: PoolPlan, replicas: number): Workload {
  return { app: `${kind}-${pool.name}`, pool: pool.name, replicas, maxUnavailable };
}

async function deploy(
  client: KubeClient,
  { app, pool, replicas }: Workload,
  requests: Record<string, string>,
): Promise<void> {
  await applyPdb(client, { name: app, app, maxUnavailable });
  await applyDeployment(client, {
    name: app,
    replicas,
    requests,
    nodeSelector: { 'karpenter.sh/nodepool': pool },
  });
}

type Watching = [log: (line: string) => void, signal: AbortSignal];

async function nodesReady(client: KubeClient, size: number, ...rest: Watching) {
  await progress('nodes', size, ...rest, async () => {
    const finished = await nodes(client, 'karpenter.sh/initialized=true');
    return finished.filter(isReady).length;
  });
}

async function podsReady(client: KubeClient, size: number, ...rest: Watching) {
  await progress('pods', size, ...rest, async () => {
    const daemonSets = await client.list<DaemonSet>('/apis/apps/v1/daemonsets');
    const ready = daemonSets.reduce((sum, { status }) => sum + (status.numberReady ?? 0), 0);
    return ready + (await availablePods(client));
  });
}

/** Waits until as many things are Ready as there are to be, and says how many there are. */
async function progress(
  what: string,
  size: number,
  log: (line: string) => void,
  signal: AbortSignal,
  count: () => Promise<number>,
): Promise<void> {
  let last = -1;
  await waitFor(
    async () => {
      const ready = await count();
      if (ready !== last) log(`${ready} of ${size} ${what} are Ready`);
      last = ready;
      return ready === size;
    },
    {
      timeout: patienceMs,
      interval: 5_000,
      what: `${size} ${what} to be Ready`,
      abortIf: () => signal.throwIfAborted(),
    },
  );
}

function namesIn(all: readonly Node[], pool: PoolPlan): string[] {
  return all
    .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool.name)
    .map(({ metadata }) => metadata.name)
    .sort();
}
