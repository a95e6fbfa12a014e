/** What must be young in a cluster that was loaded long ago, and the beat that keeps it alive. */
import { setTimeout as sleep } from 'node:timers/promises';
import { rbacManifests, readerGroup } from '../lib/kubernetes/rbac.ts';
import type { KubeClient, KubeObject } from '../test/e2e/harness/client.ts';
import { type CatalogueEntry, catalogue, daemonSetManifest, selectorOf } from './daemonsets.ts';
import { daemonSetUids, makeNode } from './load.ts';
import { readyCondition, timestamp } from './nodes.ts';
import { nodeName, type Plan } from './plan.ts';
import type { BulkWriter } from './writes.ts';

/** A kubelet reports every 5 minutes; nodegap believes a report for 15. */
const beatMs = 8 * 60_000;

/** Gives the rights, the heartbeats of all nodes, and the young nodes. */
export async function freshen(client: KubeClient, writer: BulkWriter, plan: Plan): Promise<void> {
  for (const manifest of rbacManifests() as KubeObject[]) {
    // The actuator's part comes with an admission policy, which would be measured too.
    if (manifest.metadata.name === readerGroup.replace(':', '-')) await client.apply(manifest);
  }
  const owners = await daemonSetUids(client);
  for (const item of catalogue) await client.apply(revisionOf(item, owners.get(item.key) ?? ''));
  await writer.forEach(beating(plan), (node) => beat(writer, plan, node));
  await writer.forEach(plan.young, (node) => makeNode(writer, plan, node, owners));
}

/** Reports for each node again and again, evenly spread, until `signal` is aborted. */
export async function keepAlive(
  writer: BulkWriter,
  plan: Plan,
  signal: AbortSignal,
): Promise<void> {
  const nodes = [...beating(plan), ...plan.young];
  for (let next = 0; !signal.aborted; next = (next + 1) % nodes.length) {
    await sleep(beatMs / nodes.length, undefined, { signal }).catch(() => undefined);
    const node = nodes[next];
    if (node !== undefined && !signal.aborted) await beat(writer, plan, node);
  }
}

/** The history of a DaemonSet: its one template. */
function revisionOf(item: CatalogueEntry, uid: string): KubeObject {
  const { namespace, name, revision } = item;
  const { template } = daemonSetManifest(item).spec as { template: object };
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${revision}`,
      namespace,
      labels: { ...selectorOf(item), 'controller-revision-hash': revision },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid, controller: true }],
    },
    revision: 1,
    data: { spec: { template: { ...template, $patch: 'replace' } } },
  };
}

function beating(plan: Plan): number[] {
  return Array.from({ length: plan.size }, (_, node) => node).filter(
    (node) => !plan.notReady.has(node) && !plan.young.has(node),
  );
}

function beat(writer: BulkWriter, plan: Plan, node: number): Promise<void> {
  const now = Date.now();
  const { type, status, reason, message } = readyCondition(plan, node, now);
  const condition = { type, status, reason, message, lastHeartbeatTime: timestamp(now) };
  return writer.send({
    method: 'PATCH',
    path: `/api/v1/nodes/${nodeName(node)}/status`,
    body: { status: { conditions: [condition] } },
    manager: 'kubelet',
  });
}
