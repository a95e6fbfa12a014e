/**
 * Karpenter's provisioner in small: workload pods that nothing has room for get a new NodeClaim in
 * the first pool that would take them. DaemonSet pods alone never bring a node.
 */
import type { NodeClaim, Pod } from '../../../lib/kubernetes/objects.ts';
import { conditionOf } from '../../../lib/kubernetes/objects.ts';
import { nodePoolLabel, zoneLabel } from '../labels.ts';
import { controllerOf, requestedCpu } from '../pods.ts';
import { untolerated } from '../tolerations.ts';
import { loop, type World } from '../world.ts';
import { launchClaim } from './claims.ts';
import type { Pool } from './pools.ts';

export class Provisioner {
  readonly #world: World;
  readonly #pools: Map<string, Pool>;
  readonly #ask: () => void;
  /** The claim that each pending pod waits for, by pod uid. */
  readonly #nominations = new Map<string, NodeClaim>();

  constructor(world: World, pools: Map<string, Pool>) {
    this.#world = world;
    this.#pools = pools;
    this.#ask = loop(world, world.delays.provisioningBatch, () => {
      this.#refillStaticPools();
      this.#provision();
    });
    world.store.subscribe((change) => {
      if (change.resource === 'nodeclaims' && change.type !== 'added') this.#ask();
      else if (change.resource === 'pods' && change.type === 'changed') {
        if (isUnschedulable(change.object)) this.#ask();
      }
    });
  }

  /** Looks again now, for example because a pool has capacity again. */
  ask(): void {
    this.#ask();
  }

  #refillStaticPools(): void {
    for (const pool of this.#pools.values()) {
      if (pool.staticNodes === undefined || !pool.hasCapacity) continue;
      const live = this.#claims(pool).length;
      for (let count = live; count < pool.staticNodes; count++) this.#launch(pool, undefined);
    }
  }

  #provision(): void {
    const { store } = this.#world;
    const pending = [...store.values('pods')].filter(
      (pod) => isUnschedulable(pod) && controllerOf(pod)?.kind !== 'DaemonSet',
    );
    const uids = new Set(pending.map((pod) => pod.metadata.uid));
    for (const [uid, claim] of this.#nominations) {
      if (!uids.has(uid) || !this.#isOnItsWay(claim)) this.#nominations.delete(uid);
    }
    for (const pod of pending) {
      if (this.#nominations.has(pod.metadata.uid)) continue;
      const claim = this.#claimWithRoom(pod, pending) ?? this.#launchFor(pod);
      if (claim !== undefined) this.#nominations.set(pod.metadata.uid, claim);
    }
  }

  #claimWithRoom(pod: Pod, pending: Pod[]): NodeClaim | undefined {
    for (const pool of this.#pools.values()) {
      for (const claim of this.#claims(pool)) {
        const zone = claim.metadata.labels?.[zoneLabel] ?? '';
        if (!this.#isOnItsWay(claim) || !takes(pool, [zone], pod)) continue;
        const nominated = pending.filter((p) => this.#nominations.get(p.metadata.uid) === claim);
        const cpu = nominated.reduce((sum, { spec }) => sum + requestedCpu(spec), 0);
        const room = this.#roomFor(pool);
        if (nominated.length < room.pods && cpu + requestedCpu(pod.spec) <= room.cpu) return claim;
      }
    }
    return undefined;
  }

  #launchFor(pod: Pod): NodeClaim | undefined {
    for (const pool of this.#pools.values()) {
      if (pool.managedBy !== 'karpenter' || pool.staticNodes !== undefined) continue;
      if (!pool.hasCapacity || !takes(pool, pool.zones, pod)) continue;
      if (requestedCpu(pod.spec) > this.#roomFor(pool).cpu) continue;
      return this.#launch(pool, pod.spec.nodeSelector?.[zoneLabel]);
    }
    return undefined;
  }

  /** Launches in the given zone, or in the one where the pool has the fewest nodes. */
  #launch(pool: Pool, zone: string | undefined): NodeClaim {
    const claims = this.#claims(pool);
    const inZone = (name: string) =>
      claims.filter((claim) => claim.metadata.labels?.[zoneLabel] === name).length;
    const fewest = pool.zones.reduce((best, name) => (inZone(name) < inZone(best) ? name : best));
    return launchClaim(this.#world, pool, zone ?? fewest);
  }

  /** What a new node of the pool has left beside the DaemonSets. */
  #roomFor(pool: Pool): { cpu: number; pods: number } {
    let cpu = pool.cpu;
    let pods = pool.maxPods;
    for (const { spec } of this.#world.store.values('daemonsets')) {
      cpu -= requestedCpu(spec.template.spec);
      pods--;
    }
    return { cpu, pods };
  }

  #claims(pool: Pool): NodeClaim[] {
    return [...this.#world.store.values('nodeclaims')].filter(
      ({ metadata }) =>
        metadata.labels?.[nodePoolLabel] === pool.name && metadata.deletionTimestamp === undefined,
    );
  }

  #isOnItsWay(claim: NodeClaim): boolean {
    return (
      this.#world.store.has('nodeclaims', claim) &&
      claim.metadata.deletionTimestamp === undefined &&
      conditionOf(claim.status.conditions, 'Initialized')?.status !== 'True'
    );
  }
}

function isUnschedulable(pod: Pod): boolean {
  return (
    pod.spec.nodeName === undefined &&
    pod.metadata.deletionTimestamp === undefined &&
    conditionOf(pod.status.conditions, 'PodScheduled')?.reason === 'Unschedulable'
  );
}

/** Whether a node of that pool, in one of those zones, is one that the pod accepts. */
function takes(pool: Pool, zones: string[], pod: Pod): boolean {
  const effects = ['NoSchedule', 'NoExecute'];
  if (untolerated(pool.taints, pod.spec.tolerations, effects) !== undefined) return false;
  const labels: Record<string, string> = { [nodePoolLabel]: pool.name, ...pool.labels };
  return Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) =>
    key === zoneLabel ? zones.includes(value) : labels[key] === value,
  );
}
