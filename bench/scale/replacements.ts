/** When nodes were isolated and gone, and when others that are well came in their place. Pure. */
import { conditionOf, type Node, type Pod } from '../../lib/kubernetes/objects.ts';
import { isIsolationTaint } from '../../lib/safety/isolation-mark.ts';
import type { PodChange } from './workloads.ts';

export interface NodeChange {
  type: PodChange['type'];
  object: Node;
}

/** Epoch ms. */
export interface Times {
  isolatedAt?: number;
  goneAt?: number;
}

/** Follows the nodes of a cluster in which every node has as many DaemonSet pods. */
export class Replacements {
  readonly #daemonSets: number;
  readonly #first = new Map<string, Times>();
  /** By name of a node that came later: its Ready DaemonSet pods, and since when it had them all. */
  readonly #later = new Map<string, { pods: Set<string>; wholeAt?: number }>();

  /** By name of a node: every pod that was ever there. */
  readonly #podsOn = new Map<string, Set<string>>();

  constructor(daemonSets: number) {
    this.#daemonSets = daemonSets;
  }

  /** The nodes that are there at the beginning. */
  begin(nodes: readonly Node[]): void {
    for (const { metadata } of nodes) this.#first.set(metadata.name, {});
  }

  /** The pods that are there at the beginning. */
  beginPods(pods: readonly Pod[]): void {
    for (const pod of pods) this.#place(pod);
  }

  /** `namespace/name` of every pod that was ever on those nodes. */
  podsOn(nodes: ReadonlySet<string>): Set<string> {
    return new Set([...nodes].flatMap((name) => [...(this.#podsOn.get(name) ?? [])]));
  }

  #place({ metadata, spec }: Pod): void {
    const { nodeName } = spec;
    if (nodeName === undefined) return;
    const known = this.#podsOn.get(nodeName) ?? new Set<string>();
    known.add(`${metadata.namespace}/${metadata.name}`);
    this.#podsOn.set(nodeName, known);
  }

  seeNode({ type, object }: NodeChange, now: number): void {
    const { name } = object.metadata;
    const times = this.#first.get(name);
    if (times === undefined) {
      if (type === 'DELETED') this.#later.delete(name);
      else if (!this.#later.has(name)) this.#later.set(name, { pods: new Set() });
    } else if (type === 'DELETED') {
      times.goneAt ??= now;
    } else if (isIsolated(object)) {
      times.isolatedAt ??= now;
    }
  }

  seePod({ type, object }: PodChange, now: number): void {
    this.#place(object);
    const { metadata, spec, status } = object;
    if (metadata.ownerReferences?.[0]?.kind !== 'DaemonSet' || spec.nodeName === undefined) return;
    if (this.#first.has(spec.nodeName)) return;
    // The watches of nodes and pods are two: a pod may be seen before its node.
    const node = this.#later.get(spec.nodeName) ?? { pods: new Set<string>() };
    this.#later.set(spec.nodeName, node);
    const ready = conditionOf(status.conditions, 'Ready')?.status === 'True';
    if (type !== 'DELETED' && ready) node.pods.add(metadata.uid);
    else node.pods.delete(metadata.uid);
    if (node.pods.size === this.#daemonSets) node.wholeAt ??= now;
  }

  /** Of a node that was there at the beginning. */
  timesOf(node: string): Times {
    return this.#first.get(node) ?? {};
  }

  /** Nodes of the beginning to which something was done, or that have gone. */
  touched(): string[] {
    return [...this.#first]
      .filter(([, { isolatedAt, goneAt }]) => isolatedAt !== undefined || goneAt !== undefined)
      .map(([name]) => name);
  }

  /** When each new node first had all its DaemonSets Ready, earliest first. */
  healthyAt(): number[] {
    return [...this.#later.values()]
      .flatMap(({ wholeAt }) => (wholeAt === undefined ? [] : [wholeAt]))
      .sort((a, b) => a - b);
  }
}

function isIsolated({ spec }: Node): boolean {
  return spec.unschedulable === true || spec.taints?.some(isIsolationTaint) === true;
}
