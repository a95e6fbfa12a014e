/** What a spectator would notice: the store's changes boiled down to happenings, for displays. */
import { conditionOf, type Node, type Pod, type Taint } from '../../lib/kubernetes/objects.ts';
import { poolOf, zoneOf } from './labels.ts';
import { isReady } from './pod-status.ts';
import { controllerOf } from './pods.ts';
import type { StoreChange } from './store.ts';
import type { World } from './world.ts';

interface OfNode {
  node: string;
  pool: string | undefined;
  zone: string | undefined;
}

interface OfPod {
  namespace: string;
  pod: string;
  /** Undefined while it waits for a node. */
  node: string | undefined;
  /** `namespace/name` for a DaemonSet's pod. */
  daemonSet: string | undefined;
}

/** `at` is epoch milliseconds of virtual time. */
export type Happening = { at: number } & (
  | ({
      kind:
        | 'node-added'
        | 'node-removed'
        | 'node-ready'
        | 'node-not-ready'
        | 'node-cordoned'
        | 'node-uncordoned'
        | 'node-leaving';
    } & OfNode)
  | ({ kind: 'node-tainted' | 'node-untainted'; taint: Taint } & OfNode)
  | ({
      kind:
        | 'pod-added'
        | 'pod-bound'
        | 'pod-ready'
        | 'pod-not-ready'
        | 'pod-evicted'
        | 'pod-leaving'
        | 'pod-removed';
    } & OfPod)
  | ({ kind: 'pod-failing'; reason: string } & OfPod)
  | { kind: 'claim-added' | 'claim-leaving' | 'claim-removed'; claim: string }
);

interface NodeView {
  ready: boolean;
  cordoned: boolean;
  leaving: boolean;
  taints: Map<string, Taint>;
}

interface PodView {
  bound: boolean;
  ready: boolean;
  leaving: boolean;
  /** Why a container waits, when that is a failure. */
  failing: string | undefined;
}

/** Calls `tell` for each happening from now on. */
export function watchHappenings(world: World, tell: (happening: Happening) => void): void {
  const nodes = new Map<string, NodeView>();
  const pods = new Map<string, PodView>();
  for (const node of world.store.values('nodes')) nodes.set(node.metadata.uid, viewNode(node));
  for (const pod of world.store.values('pods')) pods.set(pod.metadata.uid, viewPod(pod));
  world.store.subscribe((change) => {
    const at = world.timeline.now;
    const { uid, name, deletionTimestamp } = change.object.metadata;
    if (change.resource === 'nodes') {
      const node = change.object;
      const about = { at, node: name, pool: poolOf(node), zone: zoneOf(node) };
      const before = nodes.get(uid);
      if (change.type === 'removed') {
        nodes.delete(uid);
        tell({ ...about, kind: 'node-removed' });
        return;
      }
      const after = viewNode(node);
      nodes.set(uid, after);
      if (before === undefined) tell({ ...about, kind: 'node-added' });
      else compareNodes(before, after, about, tell);
    } else if (change.resource === 'pods') {
      const about = { at, ...describePod(change.object) };
      const before = pods.get(uid);
      if (change.type === 'removed') {
        pods.delete(uid);
        tell({ ...about, kind: 'pod-removed' });
        return;
      }
      const after = viewPod(change.object);
      pods.set(uid, after);
      if (before === undefined) tell({ ...about, kind: 'pod-added' });
      else comparePods(before, after, change.object, about, tell);
    } else if (change.resource === 'nodeclaims') {
      if (change.type === 'added') tell({ at, kind: 'claim-added', claim: name });
      else if (change.type === 'removed') tell({ at, kind: 'claim-removed', claim: name });
      else if (deletionTimestamp !== undefined && isMarking(change)) {
        tell({ at, kind: 'claim-leaving', claim: name });
      }
    }
  });
}

/** The one change that sets deletionTimestamp; later ones are to the status. */
function isMarking(change: StoreChange): boolean {
  return change.type === 'changed' && change.aspect === 'metadata';
}

function compareNodes(
  before: NodeView,
  after: NodeView,
  about: { at: number } & OfNode,
  tell: (happening: Happening) => void,
): void {
  if (before.ready !== after.ready) {
    tell({ ...about, kind: after.ready ? 'node-ready' : 'node-not-ready' });
  }
  if (before.cordoned !== after.cordoned) {
    tell({ ...about, kind: after.cordoned ? 'node-cordoned' : 'node-uncordoned' });
  }
  if (!before.leaving && after.leaving) tell({ ...about, kind: 'node-leaving' });
  for (const [identity, taint] of after.taints) {
    if (!before.taints.has(identity)) tell({ ...about, kind: 'node-tainted', taint });
  }
  for (const [identity, taint] of before.taints) {
    if (!after.taints.has(identity)) tell({ ...about, kind: 'node-untainted', taint });
  }
}

function comparePods(
  before: PodView,
  after: PodView,
  pod: Pod,
  about: { at: number } & OfPod,
  tell: (happening: Happening) => void,
): void {
  if (!before.bound && after.bound) tell({ ...about, kind: 'pod-bound' });
  if (before.ready !== after.ready) {
    tell({ ...about, kind: after.ready ? 'pod-ready' : 'pod-not-ready' });
  }
  if (after.failing !== undefined && after.failing !== before.failing) {
    tell({ ...about, kind: 'pod-failing', reason: after.failing });
  }
  if (!before.leaving && after.leaving) {
    const target = conditionOf(pod.status.conditions, 'DisruptionTarget')?.reason;
    tell({ ...about, kind: target === 'EvictionByEvictionAPI' ? 'pod-evicted' : 'pod-leaving' });
  }
}

function viewNode(node: Node): NodeView {
  return {
    ready: conditionOf(node.status.conditions, 'Ready')?.status === 'True',
    cordoned: node.spec.unschedulable === true,
    leaving: node.metadata.deletionTimestamp !== undefined,
    taints: new Map(
      (node.spec.taints ?? []).map((taint) => [
        `${taint.key}=${taint.value ?? ''}:${taint.effect}`,
        taint,
      ]),
    ),
  };
}

function viewPod(pod: Pod): PodView {
  const reason = pod.status.containerStatuses?.[0]?.state?.waiting?.reason;
  return {
    bound: pod.spec.nodeName !== undefined,
    ready: isReady(pod),
    leaving: pod.metadata.deletionTimestamp !== undefined,
    failing: pod.status.reason ?? (reason === 'ContainerCreating' ? undefined : reason),
  };
}

function describePod(pod: Pod): OfPod {
  const owner = controllerOf(pod);
  const namespace = pod.metadata.namespace ?? 'default';
  return {
    namespace,
    pod: pod.metadata.name,
    node: pod.spec.nodeName,
    daemonSet: owner?.kind === 'DaemonSet' ? `${namespace}/${owner.name}` : undefined,
  };
}
