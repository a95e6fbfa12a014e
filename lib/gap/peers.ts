/** How the other nodes of a DaemonSet fare: what blame is judged by. */
import { parseTime } from '../clock.ts';
import { conditionOf, type Node, type Pod } from '../kubernetes/objects.ts';
import type { Cause } from './model.ts';
import { zoneOf } from './node-kinds.ts';
import { revisionOf } from './rollout.ts';

/** A moment at which something happened on a node. */
export interface Sighting {
  /** Epoch ms. */
  at: number;
  node: string;
}

/** A zone, or everything outside it, in nodes. */
export interface Share {
  nodes: number;
  failing: number;
}

/** `2026-11-30T09:07:30Z`, as Kubernetes writes times: such texts sort as the times do. */
const kubernetesTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** The latest of many moments. Texts are compared, since reading each of them would cost more. */
class Latest {
  sighting: Sighting | undefined;
  #iso = '';

  see(iso: string | undefined, node: string): void {
    if (iso === undefined || (iso.length === this.#iso.length && iso <= this.#iso)) return;
    const at = parseTime(iso);
    if (at === undefined || (this.sighting !== undefined && at <= this.sighting.at)) return;
    this.sighting = { at, node };
    this.#iso = kubernetesTime.test(iso) ? iso : '';
  }
}

/** The nodes of one DaemonSet by how it fares there, in numbers. */
export class Peers {
  /** Nodes where it should run and of which something can be said. */
  judged = 0;
  healthy = 0;
  notReadyNodes = 0;
  readonly #healthyByRevision = new Map<string, number>();
  readonly #latestPod = new Latest();
  readonly #latestReadyPod = new Latest();
  readonly #latestReadyByRevision = new Map<string, Latest>();
  readonly #gapsByCause = new Map<Cause, number>();
  readonly #zones = new Map<string, Share>();

  /** Its youngest pod on any node. */
  get latestPod(): Sighting | undefined {
    return this.#latestPod.sighting;
  }

  /** The youngest of its pods that are Ready. */
  get latestReadyPod(): Sighting | undefined {
    return this.#latestReadyPod.sighting;
  }

  /** A pod of the DaemonSet, in whatever state. */
  addPod(node: string, pod: Pod): void {
    this.#latestPod.see(pod.metadata.creationTimestamp, node);
  }

  /** A node that its pod covers. */
  addHealthy(node: Node, pod: Pod): void {
    const { name } = node.metadata;
    this.judged += 1;
    this.healthy += 1;
    this.#addToZone(node, 0);
    this.#latestReadyPod.see(pod.metadata.creationTimestamp, name);
    const revision = revisionOf(pod);
    if (revision === undefined) return;
    this.#healthyByRevision.set(revision, (this.#healthyByRevision.get(revision) ?? 0) + 1);
    const latest = this.#latestReadyByRevision.get(revision) ?? new Latest();
    latest.see(conditionOf(pod.status.conditions, 'Ready')?.lastTransitionTime, name);
    this.#latestReadyByRevision.set(revision, latest);
  }

  /** A node with a gap; `failing` when it is past its grace and no passing state. */
  addGap(node: Node, cause: Cause, failing: boolean): void {
    this.judged += 1;
    if (cause === 'node-not-ready') this.notReadyNodes += 1;
    this.#gapsByCause.set(cause, this.withCause(cause) + 1);
    this.#addToZone(node, failing ? 1 : 0);
  }

  /** Nodes whose gap has that cause. */
  withCause(cause: Cause): number {
    return this.#gapsByCause.get(cause) ?? 0;
  }

  /** Nodes that run that template revision happily. */
  healthyOf(revision: string | undefined): number {
    return revision === undefined ? 0 : (this.#healthyByRevision.get(revision) ?? 0);
  }

  /** The pod of that revision that became Ready last. */
  latestReadyOf(revision: string | undefined): Sighting | undefined {
    return revision === undefined ? undefined : this.#latestReadyByRevision.get(revision)?.sighting;
  }

  /** The zone and the rest, or undefined when there is only that zone. */
  zoneShares(zone: string): { inside: Share; outside: Share } | undefined {
    const inside = this.#zones.get(zone);
    if (inside === undefined || this.#zones.size < 2) return undefined;
    const outside = { nodes: 0, failing: 0 };
    for (const [name, share] of this.#zones) {
      if (name === zone) continue;
      outside.nodes += share.nodes;
      outside.failing += share.failing;
    }
    return { inside, outside };
  }

  #addToZone(node: Node, failing: number): void {
    const zone = zoneOf(node);
    if (zone === undefined) return;
    const share = this.#zones.get(zone) ?? { nodes: 0, failing: 0 };
    share.nodes += 1;
    share.failing += failing;
    this.#zones.set(zone, share);
  }
}
