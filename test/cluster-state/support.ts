import { type ClusterState, openClusterState } from '../../lib/cluster-state/open.ts';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';

export const start = Date.parse('2026-11-30T12:00:00Z');

export function emptyCluster(): SimulatedCluster {
  return new SimulatedCluster({ clock: { now: () => start }, historyMs: 0 });
}

/** Waits for nothing but others' turns. */
export const quick = {
  random: () => 0.5,
  sleep: async (_ms: number) => {
    await Promise.resolve();
  },
};

export function openState(
  transport: Transport,
  more: Partial<Parameters<typeof openClusterState>[1]> = {},
): Promise<ClusterState> {
  return openClusterState(transport, {
    installation: 'local/nodegap',
    cluster: 'prod',
    identity: 'ann@laptop',
    clock: { now: () => start },
    pacing: quick,
    ...more,
  });
}
