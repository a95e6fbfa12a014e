/** Fills an empty API server with everything in a plan but the young nodes. */
import type { KubeClient } from '../test/e2e/harness/client.ts';
import { type CatalogueEntry, catalogue, daemonSetManifest, namespaces } from './daemonsets.ts';
import { nodeManifest, nodeStatus } from './nodes.ts';
import { nodeName, type Plan } from './plan.ts';
import { daemonSetPod, type PodToMake, workloadPod } from './pods.ts';
import type { BulkWriter } from './writes.ts';

/** Change it with what is made here or in what this imports: cached data of others is not used. */
export const dataVersion = 1;

const workloadPodsPerNode = 10;
const reportMs = 15_000;

/** Writes namespaces, DaemonSets, nodes and pods. Takes about 6 minutes for 5,000 nodes. */
export async function loadCluster(
  client: KubeClient,
  writer: BulkWriter,
  plan: Plan,
  log: (line: string) => void,
): Promise<void> {
  for (const name of namespaces) {
    await client.create('/api/v1/namespaces', { metadata: { name } });
  }
  for (const item of catalogue) {
    await client.create(daemonSetsPath(item), daemonSetManifest(item));
  }
  const owners = await daemonSetUids(client);
  const old = Array.from({ length: plan.size }, (_, node) => node).filter(
    (n) => !plan.young.has(n),
  );
  const workload = Array.from({ length: plan.size * workloadPodsPerNode }, (_, index) => index);
  let nodes = 0;
  let pods = 0;
  const report = setInterval(() => {
    log(`loaded ${nodes} of ${old.length} nodes, ${pods} of ${workload.length} pods of workload`);
  }, reportMs);
  try {
    await writer.forEach(old, async (node) => {
      await makeNode(writer, plan, node, owners);
      nodes += 1;
    });
    await writer.forEach(workload, async (index) => {
      await makePod(writer, workloadPod(index, index % plan.size, Date.now()), 'kube-scheduler');
      pods += 1;
    });
  } finally {
    clearInterval(report);
  }
  for (const item of catalogue) {
    await writer.send({
      method: 'PATCH',
      path: `${daemonSetsPath(item)}/${item.name}/status`,
      body: { status: daemonSetStatus(plan, item) },
      manager: 'kube-controller-manager',
    });
  }
}

/** A node with its DaemonSet pods. `owners`: the uids of the DaemonSets. */
export async function makeNode(
  writer: BulkWriter,
  plan: Plan,
  node: number,
  owners: ReadonlyMap<string, string>,
): Promise<void> {
  const name = nodeName(node);
  const manifest = nodeManifest(plan, node);
  await writer.send({ method: 'POST', path: '/api/v1/nodes', body: manifest, manager: 'kubelet' });
  await writer.send({
    method: 'PATCH',
    path: `/api/v1/nodes/${name}/status`,
    body: { status: nodeStatus(plan, node, Date.now()) },
    manager: 'kubelet',
  });
  for (const item of catalogue) {
    const fault = plan.faultOf(node, item.key);
    if (fault === 'missing') continue;
    const state = { fault, nodeReady: !plan.notReady.has(node) };
    const pod = daemonSetPod(item, owners.get(item.key) ?? '', node, state, Date.now());
    await makePod(writer, pod, 'kube-controller-manager');
  }
}

/** The uids of the DaemonSets, by `namespace/name`. */
export async function daemonSetUids(client: KubeClient): Promise<Map<string, string>> {
  const items = await client.list<{ metadata: { namespace: string; name: string; uid: string } }>(
    '/apis/apps/v1/daemonsets',
  );
  return new Map(
    items.map(({ metadata: { namespace, name, uid } }) => [`${namespace}/${name}`, uid]),
  );
}

async function makePod(writer: BulkWriter, pod: PodToMake, creator: string): Promise<void> {
  await writer.send({
    method: 'POST',
    path: podsPath(pod),
    body: pod.manifest,
    manager: creator,
  });
  await writePodStatus(writer, pod);
}

/** Gives a pod its status, as its kubelet does. */
export function writePodStatus(writer: BulkWriter, pod: PodToMake): Promise<void> {
  const { manifest, status } = pod;
  return writer.send({
    method: 'PUT',
    path: `${podsPath(pod)}/${manifest.metadata.name}/status`,
    // The API server keeps the spec of the pod that it has; a merge would cost it more.
    body: { ...manifest, status },
    manager: 'kubelet',
  });
}

function podsPath({ manifest }: PodToMake): string {
  return `/api/v1/namespaces/${manifest.metadata.namespace}/pods`;
}

function daemonSetsPath({ namespace }: CatalogueEntry): string {
  return `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
}

/** The counts as the controller would give them. */
function daemonSetStatus(plan: Plan, { key }: CatalogueEntry) {
  let missing = 0;
  let unready = 0;
  for (let node = 0; node < plan.size; node += 1) {
    const fault = plan.faultOf(node, key);
    if (fault === 'missing') missing += 1;
    else if (fault !== undefined || plan.notReady.has(node)) unready += 1;
  }
  const current = plan.size - missing;
  const ready = current - unready;
  return {
    observedGeneration: 1,
    desiredNumberScheduled: plan.size,
    currentNumberScheduled: current,
    updatedNumberScheduled: current,
    numberMisscheduled: 0,
    numberReady: ready,
    numberAvailable: ready,
    numberUnavailable: plan.size - ready,
  };
}
