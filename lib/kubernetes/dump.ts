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
 * trace of what it was asked for. An object that several pieces hold counts once. `readAt` is the newest heartbeat or event of the dump, the best
 * that it tells of its own age; `cluster` is `dump`.
 * @throws UsageError when it is no List, an item has no kind or is no such object, or there are no
 * Nodes, DaemonSets or Pods at all: then a gap could not be told from a kind that was not asked for.
 * Also when two nodes have one name: pods name their node by it.
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
  const heads = items.map(headOf);
  const superseded = supersededItems(items, heads);
  heads.forEach(({ kind, apiVersion }, index) => {
    if (superseded.has(index)) return;
    try {
      readers[`${apiVersion} ${kind}`]?.(items[index]);
    } catch (cause) {
      throw new UsageError(`items[${index}] is no usable ${kind}: ${messageOf(cause)}`, {
        cause,
        hint: howTo,
      });
    }
  });
  const { nodes, daemonSets, pods, events, nodeClaims, podDisruptionBudgets } = sorted;
  refuseTwins(nodes);
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

interface Head {
  kind: string;
  apiVersion: string;
}

function headOf(item: unknown, index: number): Head {
  if (!isObject(item) || typeof item.kind !== 'string' || item.kind === '') {
    throw new UsageError(`items[${index}] has no kind`, { hint: howTo });
  }
  if (typeof item.apiVersion !== 'string') {
    throw new UsageError(`items[${index}] (${item.kind}) has no apiVersion`, { hint: howTo });
  }
  return { kind: item.kind, apiVersion: item.apiVersion };
}

/** Indexes of items of which there is another state: the newer one counts, else the later one. */
function supersededItems(items: unknown[], heads: Head[]): Set<number> {
  const latest = new Map<string, number>();
  const superseded = new Set<number>();
  heads.forEach(({ apiVersion, kind }, index) => {
    const { uid } = metadataOf(items[index]);
    if (typeof uid !== 'string') return;
    const key = `${apiVersion} ${kind} ${uid}`;
    const before = latest.get(key);
    if (before !== undefined && isOlder(items[index], items[before])) {
      superseded.add(index);
      return;
    }
    if (before !== undefined) superseded.add(before);
    latest.set(key, index);
  });
  return superseded;
}

/** By resourceVersion, which orders the states of one object where it is a number. */
function isOlder(item: unknown, other: unknown): boolean {
  const [own, others] = [versionOf(item), versionOf(other)];
  return own !== undefined && others !== undefined && own < others;
}

function versionOf(item: unknown): bigint | undefined {
  const { resourceVersion } = metadataOf(item);
  const isNumber = typeof resourceVersion === 'string' && /^\d+$/.test(resourceVersion);
  return isNumber ? BigInt(resourceVersion) : undefined;
}

function metadataOf(item: unknown): RawObject {
  return isObject(item) && isObject(item.metadata) ? item.metadata : {};
}

/** @throws UsageError for two nodes of one name: then it is not known whose the pods are. */
function refuseTwins(nodes: Node[]): void {
  const uids = new Map<string, string>();
  for (const { metadata } of nodes) {
    const other = uids.get(metadata.name);
    if (other !== undefined) {
      throw new UsageError(
        `the dump holds two nodes named ${metadata.name} (uids ${other} and ${metadata.uid}): its pieces are of different clusters or times`,
        { hint: `dump one cluster at one time: ${howTo}` },
      );
    }
    uids.set(metadata.name, metadata.uid);
  }
}

function optional<T>(items: T[], what: string): OptionalRead<T> {
  return items.length > 0
    ? { ok: true, items }
    : { ok: false, reason: `${what} not in the dump`, notAsked: true };
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
