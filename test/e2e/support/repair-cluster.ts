/** The cluster of repair.e2e.test.ts: two Karpenter pools with workload, and what is asked of it. */
import {
  conditionOf,
  type Node,
  type NodeClaim,
  type Pod,
  type Taint,
} from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import type { Outcome } from '../harness/faults.ts';
import { applyDaemonSet, applyDeployment, applyNodePool, applyPdb } from '../harness/objects.ts';
import { isReady, nodes, pods, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { Change } from './recorder.ts';

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

/** Breaks the pods of a DaemonSet on one node, and waits until it shows. */
export async function breakPod(
  cluster: ControlPlane,
  pair: { node: string; daemonSet: string },
  outcome: Outcome,
): Promise<void> {
  await cluster.injector.set(pair, outcome);
  await waitFor(async () => (await podsOf(cluster.client(), pair)).every((pod) => !isReady(pod)), {
    timeout: 20_000,
    what: `${pair.daemonSet} on ${pair.node} not to be Ready`,
  });
}

/** A pod of the DaemonSet becomes Ready on another node, from now on: the witness. */
export async function restartPod(
  cluster: ControlPlane,
  pair: { node: string; daemonSet: string },
): Promise<void> {
  const [before] = await podsOf(cluster.client(), pair);
  const [namespace = '', name = ''] = [pair.daemonSet.split('/')[0], before?.metadata.name];
  await cluster.kubectl(['delete', 'pod', '-n', namespace, name]);
  await waitFor(
    async () => {
      const [pod] = await podsOf(cluster.client(), pair);
      return pod !== undefined && pod.metadata.uid !== before?.metadata.uid && isReady(pod);
    },
    { timeout: 20_000, what: `a new pod of ${pair.daemonSet} on ${pair.node}` },
  );
}

export const ownTaint: Taint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };

export function hasOwnTaint({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === ownTaint.key) === true;
}

/** What nodegap wrote on the node about what it did. */
export function markOf({ metadata }: Node): Record<string, unknown> | undefined {
  const text = metadata.annotations?.['nodegap.dev/isolation'];
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
}

/** What nodegap, or anybody, may have done to a node. Its status is the kubelet's. */
export function shapeOf({ metadata, spec }: Node) {
  const { uid, labels, annotations } = metadata;
  return { uid, labels, annotations, spec };
}

/** Of all moments, the lowest number of pods that were Ready and not on their way out. */
export function lowestAvailability(changes: readonly Change<Pod>[], apps: string[]): number {
  const present = new Map<string, Pod>();
  let lowest = Number.POSITIVE_INFINITY;
  // The first changes are the pods that were there: availability counts once they are all known.
  const initial = changes.findIndex(({ type }) => type !== 'ADDED');
  for (const [index, { type, object }] of changes.entries()) {
    if (!apps.includes(object.metadata.labels?.app ?? '')) continue;
    if (type === 'DELETED') present.delete(object.metadata.uid);
    else present.set(object.metadata.uid, object);
    if (index < initial) continue;
    const available = [...present.values()].filter(
      (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined,
    );
    lowest = Math.min(lowest, available.length);
  }
  return lowest;
}

/** When somebody asked for the deletion of the object, by the revision of the cluster. */
export function deletionAsked(
  changes: readonly Change<Pod | NodeClaim>[],
  uid: string,
): number | undefined {
  return changes.find(
    ({ object }) => object.metadata.uid === uid && object.metadata.deletionTimestamp !== undefined,
  )?.revision;
}

/** When the object was gone. */
export function goneAt(changes: readonly Change<Pod>[], uid: string): number | undefined {
  return changes.find(({ type, object }) => type === 'DELETED' && object.metadata.uid === uid)
    ?.revision;
}

/** Why a pod was taken away, in the word that the API server writes on it. */
export function disruptionOf(changes: readonly Change<Pod>[], uid: string): string | undefined {
  const last = changes.findLast(({ object }) => object.metadata.uid === uid);
  return conditionOf(last?.object.status.conditions, 'DisruptionTarget')?.reason;
}
