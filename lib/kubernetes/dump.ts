/** Reads a cluster from what `kubectl get … -o json` printed, instead of from an API server. */
import { parseTime } from '../clock.ts';
import { messageOf, UsageError } from '../errors.ts';
import type { ClusterFacts, OptionalRead } from '../gap/model.ts';
import type {
  DaemonSet,
  KubernetesEvent,
  Node,
  NodeClaim,
  Pod,
  PodDisruptionBudget,
} from './objects.ts';
import {
  projectDaemonSet,
  projectEvent,
  projectNode,
  projectNodeClaim,
  projectPod,
  projectPodDisruptionBudget,
} from './projections.ts';

export interface Dump {
  facts: ClusterFacts;
  podDisruptionBudgets: PodDisruptionBudget[];
}

const howTo = 'kubectl get nodes,ds,pods,events,pdb -A -o json > dump.json';

/**
 * Sorts a v1 List into facts and PodDisruptionBudgets. Kinds that nodegap does not read are passed
 * over. Events or NodeClaims of which there is none count as not read, since kubectl leaves no
 * trace of what it was asked for. `readAt` is the newest heartbeat or event of the dump, the best
 * that it tells of its own age; `cluster` is `dump`.
 * @throws UsageError when it is no List, an item has no kind or is no such object, or there are no
 * Nodes, DaemonSets or Pods at all: then a gap could not be told from a kind that was not asked for.
 */
export function readDump(list: unknown): Dump {
  const items = itemsOf(list);
  const sorted = {
    nodes: [] as Node[],
    daemonSets: [] as DaemonSet[],
    pods: [] as Pod[],
    events: [] as KubernetesEvent[],
    nodeClaims: [] as NodeClaim[],
    podDisruptionBudgets: [] as PodDisruptionBudget[],
  };
  const readers: Record<string, (item: unknown) => void> = {
    'v1 Node': (item) => sorted.nodes.push(projectNode(item)),
    'apps/v1 DaemonSet': (item) => sorted.daemonSets.push(projectDaemonSet(item)),
    'v1 Pod': (item) => sorted.pods.push(projectPod(item)),
    'v1 Event': (item) => sorted.events.push(projectEvent(item)),
    'karpenter.sh/v1 NodeClaim': (item) => sorted.nodeClaims.push(projectNodeClaim(item)),
    'policy/v1 PodDisruptionBudget': (item) =>
      sorted.podDisruptionBudgets.push(projectPodDisruptionBudget(item)),
  };
  items.forEach((item, index) => {
    const { kind, apiVersion } = headOf(item, index);
    try {
      readers[`${apiVersion} ${kind}`]?.(item);
    } catch (cause) {
      throw new UsageError(`items[${index}] is no usable ${kind}: ${messageOf(cause)}`, {
        cause,
        hint: howTo,
      });
    }
  });
  const { nodes, daemonSets, pods, events, nodeClaims, podDisruptionBudgets } = sorted;
  const missing = [
    ...(nodes.length === 0 ? ['nodes'] : []),
    ...(daemonSets.length === 0 ? ['daemonsets'] : []),
    ...(pods.length === 0 ? ['pods'] : []),
  ];
  if (missing.length > 0) {
    throw new UsageError(`the dump holds no ${missing.join(', no ')}: nothing can be said`, {
      hint: howTo,
    });
  }
  return {
    facts: {
      cluster: 'dump',
      readAt: newestSign(nodes, events),
      nodes,
      daemonSets,
      pods,
      events: optional(events, 'events'),
      nodeClaims: optional(nodeClaims, 'NodeClaims'),
    },
    podDisruptionBudgets,
  };
}

/** The facts of a v1 List, as `readDump`. @throws UsageError as `readDump`. */
export function factsFromList(list: unknown): ClusterFacts {
  return readDump(list).facts;
}

type RawObject = Record<string, unknown>;

function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function itemsOf(list: unknown): unknown[] {
  if (isObject(list) && list.kind === 'List' && Array.isArray(list.items)) return list.items;
  const what =
    isObject(list) && typeof list.kind === 'string' ? `a ${list.kind}` : 'no Kubernetes object';
  throw new UsageError(`the dump is ${what}, not a List with items`, { hint: howTo });
}

function headOf(item: unknown, index: number): { kind: string; apiVersion: string } {
  if (!isObject(item) || typeof item.kind !== 'string' || item.kind === '') {
    throw new UsageError(`items[${index}] has no kind`, { hint: howTo });
  }
  if (typeof item.apiVersion !== 'string') {
    throw new UsageError(`items[${index}] (${item.kind}) has no apiVersion`, { hint: howTo });
  }
  return { kind: item.kind, apiVersion: item.apiVersion };
}

function optional<T>(items: T[], what: string): OptionalRead<T> {
  return items.length > 0 ? { ok: true, items } : { ok: false, reason: `${what} not in the dump` };
}

function newestSign(nodes: Node[], events: KubernetesEvent[]): number {
  const times = [
    ...nodes.flatMap(({ metadata, status }) => [
      metadata.creationTimestamp,
      ...(status.conditions ?? []).map(({ lastHeartbeatTime }) => lastHeartbeatTime),
    ]),
    ...events.flatMap(({ lastTimestamp, eventTime }) => [lastTimestamp, eventTime]),
  ];
  return times.reduce((newest, time) => Math.max(newest, parseTime(time) ?? 0), 0);
}
