/** What scenarios about drains ask and expect of a scene. */
import { expect } from 'vitest';
import type { KubernetesEvent, Node, Pod } from '../../../lib/kubernetes/objects.ts';
import type { Approval } from '../../../lib/safety/approvals.ts';
import type { AuditEntry } from '../harness/audit.ts';
import { waitFor } from '../harness/wait.ts';
import type { ObservedRun } from './observed-run.ts';
import type { ConfigChanges, Operator } from './operator.ts';
import type { Scene } from './scene.ts';
import { disruptionOf, hasOwnTaint, markOf, shapeOf } from './traces.ts';

const patience = 300_000;

/**
 * For a drain that comes soon: a sandbox that fails needs no witness. The breaker is no part of it:
 * nodes that come for the drained pods count as unhealthy until they are well, which on a busy
 * machine is long after their grace.
 */
export function drainSoon(
  timings: ConfigChanges['timings'] = {},
  drain: ConfigChanges['drain'] = {},
): ConfigChanges {
  return {
    timings: { nodeGrace: 15, confirmation: 4, holdDown: 3, ...timings },
    breaker: { maxUnhealthyPercent: 100, unhealthyInOneZone: 1_000 },
    drain,
  };
}

/** The question that nodegap has put about a node, once it has. */
export function asked(operator: Operator, node: string): Promise<Approval> {
  return waitFor(
    async () => {
      const { approvals } = (await operator.approvals()) as { approvals: Approval[] };
      return approvals.find((approval) => approval.node === node);
    },
    { timeout: patience, what: `a question about ${node}`, describe: () => operator.trace() },
  );
}

/** An Event with that reason on the node, once there is one whose message matches. */
export function told(
  scene: Scene,
  node: Node,
  reason: string,
  message = /./,
): Promise<KubernetesEvent> {
  return waitFor(
    async () => {
      const found = await scene.eventsOn(node);
      return found.find((event) => event.reason === reason && message.test(event.message ?? ''));
    },
    {
      timeout: patience,
      interval: 250,
      what: `${reason} with ${message} on ${node.metadata.name}`,
      describe: async () =>
        (await scene.eventsOn(node)).map((event) => `${event.reason} ${event.message}`).join('\n'),
    },
  );
}

/** The pods of the scene's namespace that are on the node, none of them on its way out. */
export async function podsOn(scene: Scene, node: string): Promise<Pod[]> {
  const path = `/api/v1/namespaces/${scene.namespace}/pods`;
  const found = await scene.cluster.client().list<Pod>(path);
  return found.filter(
    ({ metadata, spec }) => spec.nodeName === node && metadata.deletionTimestamp === undefined,
  );
}

/** The pod of the workload that is on the node. */
export async function webOn(scene: Scene, node: string): Promise<Pod> {
  const found = (await podsOn(scene, node)).find(({ metadata }) => metadata.labels?.app === 'web');
  if (found === undefined) throw new Error(`no pod of ${scene.name} is on ${node}`);
  return found;
}

/** That the node is cut off, and that neither it nor these pods are on their way out. */
export async function expectHeld(scene: Scene, name: string, pods: Pod[]): Promise<void> {
  const node = await scene.node(name);
  expect(node.spec.unschedulable).toBe(true);
  expect(hasOwnTaint(node)).toBe(true);
  expect(markOf(node)).toMatchObject({ cordoned: true, tainted: true });
  expect(node.metadata.deletionTimestamp).toBeUndefined();
  expect((await scene.claimOf(name)).metadata.deletionTimestamp).toBeUndefined();
  const left = (await podsOn(scene, name)).map(({ metadata }) => metadata.uid);
  expect(left).toEqual(expect.arrayContaining(pods.map(({ metadata }) => metadata.uid)));
}

/** That the node is as it was. The node controller takes its taint of the cordon off a bit later. */
export async function expectAsBefore(scene: Scene, before: Node): Promise<void> {
  const { name } = before.metadata;
  const cordonTaint = 'node.kubernetes.io/unschedulable';
  const isCordonTainted = ({ spec }: Node) => spec.taints?.some(({ key }) => key === cordonTaint);
  await waitFor(async () => isCordonTainted(before) || !isCordonTainted(await scene.node(name)), {
    timeout: patience,
    what: `${cordonTaint} to go from ${name}`,
  });
  expect(shapeOf(await scene.node(name))).toEqual(shapeOf(before));
}

/** The requests for the eviction of a pod. */
export function evictionsOf({ writes }: ObservedRun, { metadata }: Pod): AuditEntry[] {
  return writes.filter(
    ({ subresource, namespace, name }) =>
      subresource === 'eviction' && namespace === metadata.namespace && name === metadata.name,
  );
}

/** That the API server took the pod away once, when nodegap asked it to, and never by deletion. */
export function expectEvicted(run: ObservedRun, pod: Pod): void {
  const codes = evictionsOf(run, pod).map(({ code }) => code);
  expect(codes.filter((code) => code === 201)).toHaveLength(1);
  expect(disruptionOf(run.podChanges, pod.metadata.uid)).toBe('EvictionByEvictionAPI');
}

/** The deletions that were asked for, as `resource name`. */
export function deletionsIn({ writes }: ObservedRun): string[] {
  return writes
    .filter(({ verb }) => verb === 'delete')
    .map(({ resource, name }) => `${resource} ${name}`);
}

/** What people were told, of one kind of notice, oldest first. */
export function noticesOf({ notices }: ObservedRun, kind: string): string[] {
  return notices.filter((notice) => notice.kind === kind).map(({ body }) => body);
}
