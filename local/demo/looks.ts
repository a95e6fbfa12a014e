/** How each node of a cluster is drawn, from its objects. */
import type { Node } from '../../lib/kubernetes/objects.ts';
import { conditionOf } from '../../lib/kubernetes/objects.ts';
import { isolationTaint } from '../../lib/safety/ownership.ts';
import type { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import { missingOn } from './checks.ts';
import type { Look, PoolView } from './show.ts';

export interface LookFacts {
  node: Node;
  /** Required DaemonSets without a Ready pod on it. */
  missing: number;
  isDraining: boolean;
  /** It joined while the demo ran. */
  isNew: boolean;
}

/** The look of one node: what is being done to it before what is wrong with it. */
export function lookOf({ node, missing, isDraining, isNew }: LookFacts): Look {
  if (node.metadata.deletionTimestamp !== undefined) return 'leaving';
  if (isDraining) return 'draining';
  if (node.spec.taints?.some(({ key }) => key === isolationTaint.key)) return 'tainted';
  if (node.spec.unschedulable) return 'cordoned';
  const isReady = conditionOf(node.status.conditions, 'Ready')?.status === 'True';
  if (isNew) return isReady && missing === 0 ? 'new' : 'joining';
  return missing > 0 || !isReady ? 'gap' : 'healthy';
}

/** The node map of one cluster. It remembers the nodes that it has seen, so that none moves. */
export class NodeMap {
  readonly #cluster: SimulatedCluster;
  readonly #first: ReadonlySet<string>;
  /** Uids by pool. */
  readonly #places: Map<string, string[]>;

  constructor(cluster: SimulatedCluster, pools: readonly string[]) {
    this.#cluster = cluster;
    this.#places = new Map(pools.map((pool) => [pool, []]));
    this.#first = new Set(cluster.list('nodes').map(({ metadata }) => metadata.uid));
  }

  /** `draining` has the uids of the nodes that are being drained. */
  pools(draining: ReadonlySet<string>): PoolView[] {
    const pods = this.#cluster.list('pods');
    return [...this.#places].map(([name, places]) => {
      const nodes = new Map(
        this.#cluster.nodesOf(name).map((node) => [node.metadata.uid, node] as const),
      );
      for (const uid of nodes.keys()) if (!places.includes(uid)) places.push(uid);
      const look = (uid: string): Look => {
        const node = nodes.get(uid);
        if (node === undefined) return 'gone';
        return lookOf({
          node,
          missing: missingOn(node, pods).length,
          isDraining: draining.has(uid),
          isNew: !this.#first.has(uid),
        });
      };
      return { name, nodes: places.map(look) };
    });
  }
}
