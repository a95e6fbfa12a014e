/** What a pass of `admit-nodes` tells: log, metrics, people, the router, and the nodes themselves. */
import { parseTime } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { messageWithRemedy } from '../../lib/kubernetes/errors.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { ClusterWriter } from '../../lib/ports.ts';
import type { Admittable } from '../../lib/prevention/admit/carry-out.ts';
import type { AdmissionDecision } from '../../lib/prevention/admit/model.ts';
import type { AdmissionStore } from '../../lib/prevention/admit/store.ts';
import type { ChangedNodes } from '../../lib/prevention/change-nodes.ts';
import { gapFound } from '../../lib/remediation/bus-events.ts';
import { observedTaintNotice } from '../../lib/report/notices/observed-taint-notice.ts';
import { orphanTaintNotice } from '../../lib/report/notices/orphan-taint-notice.ts';
import { reasonOf } from './node-event.ts';
import type { Ports } from './ports.ts';

/** Overdue nodes are handed over so often at most. */
export const handOverEveryMs = 60_000;
/** Events on nodes, and names in one log line. */
const most = 50;

export interface Overdue {
  node: Node;
  why: string;
}

export function overdueNodes({ nodes }: AdmissionDecision): Overdue[] {
  return nodes.flatMap((each) =>
    each.kind === 'looked-at' && each.overdue !== undefined
      ? [{ node: each.node, why: each.overdue }]
      : [],
  );
}

/** Nodes that something still keeps from taking workload. */
export function waitingNodes({ nodes }: AdmissionDecision): number {
  return nodes.filter((each) => each.kind === 'looked-at' && each.wait.length > 0).length;
}

/** Logs each node that was admitted, each that has to be looked at again, and each refused one. */
export function logPatches(
  ports: Pick<Ports, 'log' | 'metrics'>,
  ids: { cluster: string; execution: string },
  { done, missed, refused, postponed }: ChangedNodes<Admittable>,
): void {
  const { cluster } = ids;
  for (const { node, remove } of done) {
    const { name, uid } = node.metadata;
    ports.log.info('admitted', { ...ids, node: name, nodeUid: uid, remove });
  }
  for (const { node, why } of missed) {
    const { name, uid } = node.metadata;
    ports.log.warn('a node changed while it was admitted', {
      ...ids,
      node: name,
      nodeUid: uid,
      why,
    });
  }
  for (const { node, error } of refused.slice(0, most)) {
    const why = messageWithRemedy(error);
    const { name, uid } = node.metadata;
    ports.log.error('a node may not be admitted', { ...ids, node: name, nodeUid: uid, why });
  }
  if (postponed > 0) ports.log.info('nodes left to the next pass', { ...ids, postponed });
  if (done.length > 0) ports.metrics.count('AdmittedNodes', done.length, { cluster });
  if (missed.length > 0) ports.metrics.count('AdmissionConflicts', missed.length, { cluster });
  if (refused.length > 0) ports.metrics.count('AdmissionRefused', refused.length, { cluster });
}

/** Tells people, once a day, of each startup taint that nobody will take off. */
export async function tellOrphans(
  notifier: Ports['notifier'],
  store: AdmissionStore,
  cluster: string,
  { nodes, orphans }: AdmissionDecision,
): Promise<void> {
  for (const name of orphans) {
    const bearers = nodes.flatMap((each) =>
      each.kind === 'looked-at' && each.wait.some((wait) => wait.name === name)
        ? [each.node.metadata.name]
        : [],
    );
    if (bearers.length === 0) continue;
    await store.tellOnce(cluster, name, () =>
      notifier.notify(orphanTaintNotice(cluster, name, bearers)),
    );
  }
}

/**
 * Asks the router for an attempt on each overdue node, and says on the nodes why. The Events follow
 * the request, so that none is missing for one that could not be written; in mode observe there are
 * none.
 */
export async function handOver(
  ports: Pick<Ports, 'log' | 'metrics'>,
  ids: { cluster: string; execution: string },
  overdue: readonly Overdue[],
  { to, on }: { to: Ports['publisher']; on: Pick<ClusterWriter, 'createNodeEvent'> | undefined },
): Promise<void> {
  const { cluster } = ids;
  await to.publish(
    overdue.map(({ node, why }) => ({
      detailType: gapFound,
      detail: { cluster, node: node.metadata.name, nodeUid: node.metadata.uid, overdue: why },
    })),
  );
  const code = 'startup-overdue';
  for (const { node, why } of overdue.slice(0, most)) {
    const { name, uid } = node.metadata;
    ports.log.warn(code, { ...ids, node: name, nodeUid: uid, why });
    try {
      await on?.createNodeEvent({
        node: name,
        nodeUid: uid,
        type: 'Warning',
        reason: reasonOf(code),
        message: `the node has not proved itself by its deadline: ${why}`,
        series: 'startup',
      });
    } catch (error) {
      ports.metrics.count('NodeEventFailed', 1, { cluster });
      ports.log.warn('an Event could not be written on the node', {
        ...ids,
        node: name,
        nodeUid: uid,
        error: messageOf(error),
      });
    }
  }
}

/**
 * In mode observe: tells people, once a day, of nodes that stay shut though they have proved
 * themselves. `deadlineMs` is the age of a node from which on that is no trial any more.
 */
export async function tellObserved(
  ports: Pick<Ports, 'clock' | 'notifier' | 'log'>,
  store: AdmissionStore,
  cluster: string,
  { nodes, deadlineMs }: { nodes: readonly { node: Node }[]; deadlineMs: number },
): Promise<void> {
  const born = ports.clock.now() - deadlineMs;
  const shut = nodes.flatMap(({ node: { metadata } }) =>
    (parseTime(metadata.creationTimestamp) ?? born) <= born ? [metadata.name] : [],
  );
  if (shut.length === 0) return;
  const code = 'startup-observed';
  // No NAME of a taint has a space.
  await store.tellOnce(cluster, 'mode observe', async () => {
    await ports.notifier.notify(observedTaintNotice(cluster, shut));
    ports.log.warn(code, { cluster, count: shut.length });
  });
}

/** In mode observe: what the pass would have done. */
export function logWouldDo(
  ports: Pick<Ports, 'log'>,
  ids: { cluster: string; execution: string },
  nodes: readonly { node: Node }[],
): void {
  if (nodes.length === 0) return;
  const names = nodes.slice(0, most).map(({ node }) => node.metadata.name);
  ports.log.info('would admit', { ...ids, count: nodes.length, nodes: names });
}
