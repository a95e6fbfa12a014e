/** The cluster of repair.e2e.test.ts: two Karpenter pools with workload, and what is asked of it. */
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyDaemonSet, applyDeployment, applyNodePool, applyPdb } from '../harness/objects.ts';
import { isReady, nodes, pods, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';

/** Tolerates everything, as a CNI does. */
export const cni = 'kube-system/cni';
/** Tolerates nothing, and runs in the pool `canary` only. */
export const agent = 'kube-system/agent';

/** Nodes of each pool: one for each replica of its workload. */
export const poolSize = { general: 4, canary: 3 } as const;
export type Pool = keyof typeof poolSize;

/** Two workloads under one budget: of two pods on one node the second has to wait for the first. */
export const webApps = ['web', 'api'];
export const webReplicas = webApps.length * poolSize.general;

const poolLabel = 'karpenter.sh/nodepool';

/** Pools in zones of their own, lest the zones' breakers depend on where Karpenter puts nodes. */
export async function makePools(cluster: ControlPlane): Promise<void> {
  const client = cluster.client();
  await applyDaemonSet(client, { name: 'cni' });
  await applyDaemonSet(client, {
    name: 'agent',
    tolerations: [],
    nodeSelector: { [poolLabel]: 'canary' },
  });
  await applyNodePool(client, { name: 'general', zone: 'test-zone-a' });
  await applyNodePool(client, { name: 'canary', zone: 'test-zone-b' });
  const inPool = (pool: Pool) => ({
    replicas: poolSize[pool],
    apart: true,
    nodeSelector: { [poolLabel]: pool },
  });
  for (const name of webApps) await applyDeployment(client, { name, ...inPool('general') });
  await applyDeployment(client, { name: 'batch', ...inPool('canary') });
  await applyPdb(client, { name: 'web', app: webApps, maxUnavailable: 1 });
  await allWell(cluster);
}

/** Waits until every node that is to be there is, with its DaemonSets and workload Ready. */
export async function allWell(cluster: ControlPlane): Promise<void> {
  const client = cluster.client();
  await waitFor(
    async () => {
      for (const pool of ['general', 'canary'] as const) {
        const found = await nodesOf(cluster, pool);
        if (found.length !== poolSize[pool]) return false;
      }
      for (const app of [...webApps, 'batch']) {
        const ready = (await pods(client, 'default', app)).filter(isReady);
        if (ready.length !== poolSize[app === 'batch' ? 'canary' : 'general']) return false;
      }
      return (
        (await daemonSetsReady(cluster, 'general')) && (await daemonSetsReady(cluster, 'canary'))
      );
    },
    {
      timeout: 60_000,
      what: 'both pools to be well',
      describe: () => cluster.kubectl(['get', 'nodes,nodeclaims,pods', '-A', '-o', 'wide']),
    },
  );
}

/** Node by node: the DaemonSets' own counters still hold a deleted node for most of a minute. */
async function daemonSetsReady(cluster: ControlPlane, pool: Pool): Promise<boolean> {
  for (const { metadata } of await nodesOf(cluster, pool)) {
    for (const daemonSet of pool === 'canary' ? [cni, agent] : [cni]) {
      const found = await podsOf(cluster.client(), { node: metadata.name, daemonSet });
      if (!found.some(isReady)) return false;
    }
  }
  return true;
}

/** The nodes of a pool that Karpenter has finished, by name. */
export async function nodesOf({ client }: ControlPlane, pool: Pool): Promise<Node[]> {
  const found = await nodes(client(), `${poolLabel}=${pool},karpenter.sh/initialized=true`);
  return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
