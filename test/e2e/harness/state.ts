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
 * The node's kubelet falls silent: the node becomes Unknown after `NODE_GRACE_SECONDS`, and nothing
 * happens to its pods any more. kwok leaves a node alone while somebody else holds its lease; here
 * that is nobody, for a day.
 */
export async function stopKubelet(client: KubeClient, name: string): Promise<void> {
  await patchLease(client, name, {
    holderIdentity: 'nodegap-test-nobody',
    leaseDurationSeconds: 86_400,
    renewTime: microTime(new Date()),
  });
}

/** The kubelet comes back: the lease has expired, so kwok takes it over within some seconds. */
export async function startKubelet(client: KubeClient, name: string): Promise<void> {
  await patchLease(client, name, { leaseDurationSeconds: 1, renewTime: microTime(new Date(0)) });
}

/** As if the kubelet had renewed the lease of its node last at that time. */
export async function setLastRenewal(client: KubeClient, name: string, at: Date): Promise<void> {
  await patchLease(client, name, { renewTime: microTime(at) });
}

async function patchLease(client: KubeClient, name: string, spec: unknown): Promise<void> {
  await client.patch(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`, {
    spec,
  });
}

function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
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
