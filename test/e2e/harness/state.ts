import {
  type Condition,
  conditionOf,
  type DaemonSet,
  type Node,
  type NodeClaim,
  type Pod,
} from '../../../lib/kubernetes/objects.ts';
import type { KubeClient } from './client.ts';
import { type Pair, pairOf } from './faults.ts';

/** What tests ask about a cluster, and the few things they do to a node. */

export function isReady(object: { status: { conditions?: Condition[] } }): boolean {
  return conditionOf(object.status.conditions, 'Ready')?.status === 'True';
}

/** All nodes, or those with a label. */
export function nodes(client: KubeClient, labelSelector = ''): Promise<Node[]> {
  return client.list(`/api/v1/nodes?labelSelector=${encodeURIComponent(labelSelector)}`);
}

export function node(client: KubeClient, name: string): Promise<Node | undefined> {
  return client.find(`/api/v1/nodes/${name}`);
}

export function nodeClaims(client: KubeClient): Promise<NodeClaim[]> {
  return client.list('/apis/karpenter.sh/v1/nodeclaims');
}

/** The pods of a namespace with that `app` label. */
export function pods(client: KubeClient, namespace: string, app: string): Promise<Pod[]> {
  return client.list(`/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${app}`);
}

/** The DaemonSet pods of a pair; more than one while an old one terminates. */
export async function podsOf(client: KubeClient, pair: Pair): Promise<Pod[]> {
  const [namespace = '', name = ''] = pair.daemonSet.split('/');
  const all = await client.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
  return all.filter((pod) => {
    const found = pairOf({ ...pod, metadata: { ...pod.metadata, namespace } });
    return found?.node === pair.node && found.daemonSet === `${namespace}/${name}`;
  });
}

/** Whether all pods that the DaemonSet controller wants are there and Ready. */
export async function isDaemonSetReady(client: KubeClient, daemonSet: string): Promise<boolean> {
  const [namespace = '', name = ''] = daemonSet.split('/');
  const { metadata, status } = await client.get<DaemonSet>(
    `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`,
  );
  const { desiredNumberScheduled = 0, numberReady = 0, observedGeneration } = status;
  return (
    observedGeneration === metadata.generation &&
    desiredNumberScheduled > 0 &&
    numberReady === desiredNumberScheduled
  );
}

/**
 * The node's kubelet falls silent: kwok leaves the node alone and renews its lease no more, so
 * the node becomes Unknown after `NODE_GRACE_SECONDS`.
 */
export async function stopKubelet(client: KubeClient, name: string): Promise<void> {
  await client.patch(`/api/v1/nodes/${name}`, {
    metadata: { annotations: { 'kwok.x-k8s.io/node': null } },
  });
}

/** The kubelet comes back. */
export async function startKubelet(client: KubeClient, name: string): Promise<void> {
  await client.patch(`/api/v1/nodes/${name}`, {
    metadata: { annotations: { 'kwok.x-k8s.io/node': 'fake' } },
  });
}

/** Sets a condition of a node, as a node problem detector does. Not `Ready`: that is kwok's. */
export async function setNodeCondition(
  client: KubeClient,
  name: string,
  condition: Pick<Condition, 'type' | 'status' | 'reason'> & { since?: Date },
): Promise<void> {
  const { since = new Date(), ...rest } = condition;
  const time = since.toISOString().replace(/\.\d+Z$/, 'Z');
  const whole = { ...rest, lastTransitionTime: time, lastHeartbeatTime: time };
  // Strategic: the list is merged by type, other conditions stay.
  await client.patch(
    `/api/v1/nodes/${name}/status`,
    { status: { conditions: [whole] } },
    'strategic',
  );
}
