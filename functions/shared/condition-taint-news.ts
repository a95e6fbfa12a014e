/** What a run of `taint-conditions` tells: log, metrics, the nodes themselves, and people. */
import { messageOf } from '../../lib/errors.ts';
import { eachOf } from '../../lib/kubernetes/each-of.ts';
import type { ClusterWriter } from '../../lib/ports.ts';
import type { ChangedNodes } from '../../lib/prevention/change-nodes.ts';
import type { NodeActions } from '../../lib/prevention/condition-taints/carry-out.ts';
import type { TaintVerdict } from '../../lib/prevention/condition-taints/model.ts';
import type { SightingStore } from '../../lib/prevention/condition-taints/store.ts';
import { conditionTaintKey } from '../../lib/prevention/condition-taints/taint.ts';
import { heldTaintsNotice } from '../../lib/report/notices/held-taints-notice.ts';
import { reasonOf } from './node-event.ts';
import type { Ports } from './ports.ts';

type NewsPorts = Pick<Ports, 'log' | 'metrics'>;

/** Lines in the log, and Events on nodes, of one run. */
const most = 50;

/** One line for each verdict but those of taints that simply stand. */
export function logVerdicts(
  { log, metrics }: NewsPorts,
  cluster: string,
  verdicts: readonly TaintVerdict[],
  acts: boolean,
): void {
  const told = verdicts.filter(({ code }) => code !== 'condition-taint-stands');
  for (const { kind, node, name, code, message } of told.slice(0, most)) {
    const does = kind === 'add' || kind === 'remove';
    log.info(does && !acts ? `would ${kind}` : kind, {
      cluster,
      node: node.metadata.name,
      nodeUid: node.metadata.uid,
      taint: conditionTaintKey(name),
      code,
      message,
    });
  }
  if (told.length > most) log.info('further verdicts', { cluster, count: told.length - most });
  const refused = new Map<string, number>();
  for (const { kind, code } of verdicts) {
    if (kind === 'refused') refused.set(code, (refused.get(code) ?? 0) + 1);
  }
  for (const [code, count] of refused) {
    metrics.count('ConditionTaintsRefused', count, { cluster, code });
  }
}

/** Counts what was done, and says it on the nodes. */
export async function tellCarriedOut(
  ports: NewsPorts,
  writer: Pick<ClusterWriter, 'createNodeEvent'>,
  cluster: string,
  { done, missed, refused, postponed }: ChangedNodes<NodeActions>,
): Promise<void> {
  const actions = done.flatMap((each) => each.actions);
  for (const [metric, kind] of [
    ['ConditionTaintsAdded', 'add'],
    ['ConditionTaintsRemoved', 'remove'],
  ] as const) {
    const count = actions.filter((action) => action.kind === kind).length;
    if (count > 0) ports.metrics.count(metric, count, { cluster });
  }
  if (missed.length > 0) {
    ports.metrics.count('ConditionTaintConflicts', missed.length, { cluster });
  }
  for (const { node, why } of missed.slice(0, most)) {
    const { name, uid } = node.metadata;
    ports.log.warn('a node is left to the next run', { cluster, node: name, nodeUid: uid, why });
  }
  for (const { node, error } of refused.slice(0, most)) {
    const { name, uid } = node.metadata;
    const why = messageOf(error);
    ports.log.error('a node may not be tainted', { cluster, node: name, nodeUid: uid, why });
  }
  if (postponed > 0) ports.log.info('nodes left to the next run', { cluster, postponed });
  await eachOf(actions.slice(0, most), (action) => tellNode(ports, writer, cluster, action));
}

/** Says on the nodes why they get no taint; the same said again counts up. */
export async function tellRefused(
  ports: NewsPorts,
  writer: Pick<ClusterWriter, 'createNodeEvent'>,
  cluster: string,
  verdicts: readonly TaintVerdict[],
): Promise<void> {
  const refused = verdicts.filter(({ kind }) => kind === 'refused');
  await eachOf(refused.slice(0, most), (verdict) => tellNode(ports, writer, cluster, verdict));
}

/** One notice while the breaker, a trip or a pause holds taints back. */
export async function tellHeldBack(
  notifier: Ports['notifier'],
  store: SightingStore,
  cluster: string,
  verdicts: readonly TaintVerdict[],
  now: number,
): Promise<void> {
  const held = verdicts.filter((each) => each.kind === 'refused' && each.held === true);
  if (held.length === 0) return;
  await store.tellOnce(now, () => notifier.notify(heldTaintsNotice(cluster, held)));
}

/** The taint itself is there or not: an Event that cannot be written changes nothing. */
async function tellNode(
  { log, metrics }: NewsPorts,
  writer: Pick<ClusterWriter, 'createNodeEvent'>,
  cluster: string,
  { kind, node, name, code, message }: TaintVerdict,
): Promise<void> {
  const { name: nodeName, uid: nodeUid } = node.metadata;
  const key = conditionTaintKey(name);
  const [reason, text] =
    kind === 'add'
      ? [reasonOf('condition-taint-added'), `put on ${key}: ${message}`]
      : kind === 'remove'
        ? [reasonOf('condition-taint-removed'), `took off ${key}: ${message}`]
        : [reasonOf('condition-taint-refused'), `${key} is not put on: ${code}: ${message}`];
  try {
    await writer.createNodeEvent({
      node: nodeName,
      nodeUid,
      type: kind === 'remove' ? 'Normal' : 'Warning',
      reason,
      message: text,
      series: `condition ${name}`,
    });
  } catch (error) {
    metrics.count('NodeEventFailed', 1, { cluster });
    log.warn('an Event could not be written on the node', {
      cluster,
      node: nodeName,
      nodeUid,
      error: messageOf(error),
    });
  }
}
