/** Makes the cluster of the scenario, and waits until all of it is well. */
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../../test/e2e/harness/control-plane.ts';
import {
  applyDaemonSet,
  applyDeployment,
  applyNodePool,
  applyPdb,
} from '../../test/e2e/harness/objects.ts';
import { isDaemonSetReady, isReady, nodes, pods } from '../../test/e2e/harness/state.ts';
import { waitFor } from '../../test/e2e/harness/wait.ts';
import {
  daemonSets,
  dedicated,
  onlyIn,
  type Pool,
  poolLabel,
  poolSize,
  pools,
  workloads,
} from './scenario.ts';

/** Zones of kwok; those of two pools are the same one. */
const zoneOf: Record<Pool, string> = {
  blue: 'test-zone-a',
  green: 'test-zone-b',
  gold: 'test-zone-c',
  amber: 'test-zone-d',
  plum: 'test-zone-d',
};

export async function makeWorld(cluster: ControlPlane): Promise<void> {
  const client = cluster.client();
  for (const name of daemonSets) {
    const pool = onlyIn[name];
    await applyDaemonSet(client, {
      name,
      ...(pool === undefined ? {} : { nodeSelector: { [poolLabel]: pool } }),
      ...(name === 'agent' ? { tolerations: [] } : {}),
    });
  }
  for (const pool of pools) {
    const taints = pool === 'gold' ? [dedicated] : [];
    await applyNodePool(client, { name: pool, zone: zoneOf[pool], taints });
    for (const workload of workloads) await applyWorkload(cluster, pool, workload, poolSize);
    const app = workloads.map((workload) => `${workload}-${pool}`);
    await applyPdb(client, { name: pool, app, maxUnavailable: 1 });
  }
  await waitFor(() => isWell(cluster), {
    timeout: 300_000,
    interval: 500,
    what: 'every pool to be well',
    describe: () => cluster.kubectl(['get', 'nodes,nodeclaims,pods', '-A', '-o', 'wide']),
  });
}

/** One workload of a pool, with so many pods, each on a node of its own. */
export async function applyWorkload(
  cluster: ControlPlane,
  pool: Pool,
  workload: (typeof workloads)[number],
  replicas: number,
): Promise<void> {
  await applyDeployment(cluster.client(), {
    name: `${workload}-${pool}`,
    replicas,
    apart: true,
    nodeSelector: { [poolLabel]: pool },
    ...(pool === 'gold' ? { tolerations: [{ ...dedicated, operator: 'Equal' }] } : {}),
  });
}

async function isWell(cluster: ControlPlane): Promise<boolean> {
  const client = cluster.client();
  for (const pool of pools) {
    if ((await nodesOf(cluster, pool)).length !== poolSize) return false;
    for (const workload of workloads) {
      const ready = (await pods(client, 'default', `${workload}-${pool}`)).filter(isReady);
      if (ready.length !== poolSize) return false;
    }
  }
  for (const name of daemonSets) {
    if (!(await isDaemonSetReady(client, `kube-system/${name}`))) return false;
  }
  return true;
}

/** The nodes of a pool that Karpenter has finished and nobody is deleting, by name. */
export async function nodesOf({ client }: ControlPlane, pool: Pool): Promise<Node[]> {
  const found = await nodes(client(), `${poolLabel}=${pool},karpenter.sh/initialized=true`);
  return found
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
