/** The objects of a cluster as lists and watches have told them last, projected. */
import type { ClusterFacts, OptionalRead } from '../gap/model.ts';
import {
  type DaemonSet,
  type KubernetesEvent,
  keyOf,
  type Node,
  type NodeClaim,
  type ObjectMeta,
  type Pod,
} from '../kubernetes/objects.ts';

/** What is followed, by its name in messages. */
export interface LiveObjects {
  nodes: Node;
  DaemonSets: DaemonSet;
  pods: Pod;
  NodeClaims: NodeClaim;
}
export type LiveKind = keyof LiveObjects;

/** Judgement needs these three; NodeClaims only say which nodes are leaving. */
export const mainKinds = ['nodes', 'DaemonSets', 'pods'] as const satisfies LiveKind[];

export class LiveStore {
  readonly #shelves: { [K in LiveKind]: Shelf<LiveObjects[K]> } = {
    nodes: new Shelf(),
    DaemonSets: new Shelf(),
    pods: new Shelf(),
    NodeClaims: new Shelf(),
  };

  /** Takes a complete list in place of all there was. */
  replace<K extends LiveKind>(kind: K, items: readonly LiveObjects[K][]): void {
    this.#shelf(kind).replace(items);
  }

  /** True when it says something new: a heartbeat alone does not. */
  put<K extends LiveKind>(kind: K, object: LiveObjects[K]): boolean {
    return this.#shelf(kind).put(object);
  }

  /** True when it was there. */
  remove<K extends LiveKind>(kind: K, object: LiveObjects[K]): boolean {
    return this.#shelf(kind).remove(object);
  }

  /** In the order in which a list would give them. */
  facts(
    cluster: string,
    now: number,
    beside: { events: OptionalRead<KubernetesEvent>; nodeClaimsUnread?: string | undefined },
  ): ClusterFacts {
    const { nodeClaimsUnread } = beside;
    return {
      cluster,
      readAt: now,
      nodes: this.#shelves.nodes.items(),
      daemonSets: this.#shelves.DaemonSets.items(),
      pods: this.#shelves.pods.items(),
      events: beside.events,
      nodeClaims:
        nodeClaimsUnread === undefined
          ? { ok: true, items: this.#shelves.NodeClaims.items() }
          : { ok: false, reason: nodeClaimsUnread },
    };
  }

  #shelf<K extends LiveKind>(kind: K): Shelf<LiveObjects[K]> {
    return this.#shelves[kind];
  }
}

/** The objects of one kind by namespace and name. */
class Shelf<T extends { metadata: ObjectMeta }> {
  readonly #byKey = new Map<string, T>();
  /** Undefined after something came or went. */
  #keys: string[] | undefined;

  replace(items: readonly T[]): void {
    this.#byKey.clear();
    for (const item of items) this.#byKey.set(keyOf(item), item);
    this.#keys = undefined;
  }

  put(object: T): boolean {
    const key = keyOf(object);
    const before = this.#byKey.get(key);
    this.#byKey.set(key, object);
    if (before !== undefined) return meaningOf(before) !== meaningOf(object);
    this.#keys = undefined;
    return true;
  }

  remove(object: T): boolean {
    const there = this.#byKey.delete(keyOf(object));
    if (there) this.#keys = undefined;
    return there;
  }

  items(): T[] {
    this.#keys ??= [...this.#byKey.keys()].sort();
    const items: T[] = [];
    for (const key of this.#keys) {
      const item = this.#byKey.get(key);
      if (item !== undefined) items.push(item);
    }
    return items;
  }
}

/**
 * What of an object a judgement can rest on. The time of a heartbeat only matters when it has long
 * not come, and that is looked at as time passes.
 */
function meaningOf(object: { metadata: ObjectMeta }): string {
  return JSON.stringify(object, (key, value: unknown) =>
    key === 'resourceVersion' || key === 'lastHeartbeatTime' ? undefined : value,
  );
}
