/**
 * How the other nodes of a DaemonSet fare: what blame is judged by.
 *
 * Gotcha: it sees every pod, so times are compared as texts and read only when somebody asks.
 */
import { isoTime, parseTime } from '../clock.ts';
import { conditionOf, type Node, type Pod } from '../kubernetes/objects.ts';
import type { Share } from './blame-verdict.ts';
import type { Cause } from './model.ts';
import { zoneOf } from './node-kinds.ts';
import { isLater, RevisionView, type Sighting, sortable } from './revision-view.ts';
import { imagesOf, revisionOf } from './rollout.ts';

/** The nodes of one DaemonSet by how it fares there, in numbers. */
export class Peers {
  /** Nodes where it should run and of which something can be said. */
  judged = 0;
  /** Nodes that a Ready pod covers, as far as it is known. */
  covered = 0;
  /** Those of them whose pod has stayed Ready. */
  healthy = 0;
  notReadyNodes = 0;
  /** Nodes that are well, and of whose pods no more is known: nothing can be compared with them. */
  uncompared = 0;
  readonly #latestPod = new Latest();
  readonly #latestReadyPod = new Latest();
  /** Ready since later than this is too short to prove anything. */
  readonly #steadySince: string;
  readonly #revisions = new Map<string, RevisionView>();
  readonly #gapsByCause = new Map<Cause, number>();
  readonly #failingByCause = new Map<Cause, number>();
  readonly #imagesByCause = new Map<Cause, Map<string, number>>();
  readonly #zones = new Map<string, Share>();

  /**
   * `now` in epoch ms. A pod that crashes again and again is Ready for moments, so one that has been
   * Ready for less than `steadyMs` proves nothing: its node is neither healthy nor failing.
   */
  constructor(now: number, steadyMs: number) {
    this.#steadySince = isoTime(now - steadyMs);
  }

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
    const created = sortable(pod.metadata.creationTimestamp);
    this.#latestPod.see(created, node);
    this.#viewOf(pod)?.seePod(created, pod);
  }

  /** A node that its pod covers. */
  addHealthy(node: Node, pod: Pod): void {
    const { name } = node.metadata;
    const created = sortable(pod.metadata.creationTimestamp);
    const ready = sortable(conditionOf(pod.status.conditions, 'Ready')?.lastTransitionTime);
    this.judged += 1;
    this.covered += 1;
    this.#addToZone(node, 0);
    this.#latestReadyPod.see(created, name);
    const view = this.#viewOf(pod);
    if (view !== undefined) view.covered += 1;
    if (ready !== undefined && ready > this.#steadySince) return;
    this.healthy += 1;
    view?.seeHealthy({ created, ready, node, pod });
  }

  /** A node that a quick read found surely healthy; nothing of its pod is known. */
  addCovered(node: Node): void {
    this.judged += 1;
    this.uncompared += 1;
    this.#addToZone(node, 0);
  }

  /**
   * A node with a gap; `failing` when it is past its grace and no passing state. `pod` is one that
   * fails by itself, and is not just young or on its way out.
   */
  addGap(node: Node, cause: Cause, failing: boolean, pod?: Pod): void {
    this.judged += 1;
    if (cause === 'node-not-ready') this.notReadyNodes += 1;
    this.#gapsByCause.set(cause, this.withCause(cause) + 1);
    this.#addToZone(node, failing ? 1 : 0);
    if (failing) this.#failingByCause.set(cause, this.failingWith(cause) + 1);
    if (pod === undefined || cause === 'starting' || cause === 'rollout') return;
    this.#viewOf(pod)?.seeGap(cause);
    const images = imagesOf(pod.spec);
    if (images === undefined) return;
    const counts = this.#imagesByCause.get(cause) ?? new Map<string, number>();
    counts.set(images, (counts.get(images) ?? 0) + 1);
    this.#imagesByCause.set(cause, counts);
  }

  /** Nodes whose gap has that cause. */
  withCause(cause: Cause): number {
    return this.#gapsByCause.get(cause) ?? 0;
  }

  /** Those of them that are past their grace. */
  failingWith(cause: Cause): number {
    return this.#failingByCause.get(cause) ?? 0;
  }

  /** Images of the pods that fail with that cause, and on how many nodes each. */
  imagesWithCause(cause: Cause): ReadonlyMap<string, number> {
    return this.#imagesByCause.get(cause) ?? new Map();
  }

  /** Nodes that are covered by a pod of another revision: they say nothing about this one. */
  coveredByOthers(revision: string | undefined): number {
    if (revision !== undefined) return this.covered - (this.revision(revision)?.covered ?? 0);
    return this.revisions().reduce((sum, view) => sum + view.covered, 0);
  }

  /** Nodes that run that template revision happily. */
  healthyOf(revision: string | undefined): number {
    return this.revision(revision)?.healthy ?? 0;
  }

  revision(revision: string | undefined): RevisionView | undefined {
    return revision === undefined ? undefined : this.#revisions.get(revision);
  }

  /** All revisions of which a pod is there, the one with the youngest pod first. */
  revisions(): RevisionView[] {
    return [...this.#revisions.values()].sort(
      (a, b) => b.lastPod - a.lastPod || (a.name < b.name ? -1 : 1),
    );
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

  #viewOf(pod: Pod): RevisionView | undefined {
    const revision = revisionOf(pod);
    if (revision === undefined) return undefined;
    let view = this.#revisions.get(revision);
    if (view === undefined) {
      view = new RevisionView(revision);
      this.#revisions.set(revision, view);
    }
    return view;
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

/** The latest of many moments. */
class Latest {
  #latest: { created: string; node: string } | undefined;

  get sighting(): Sighting | undefined {
    const at = parseTime(this.#latest?.created);
    return at === undefined || this.#latest === undefined
      ? undefined
      : { at, node: this.#latest.node };
  }

  see(created: string | undefined, node: string): void {
    if (created !== undefined && isLater(created, node, this.#latest)) {
      this.#latest = { created, node };
    }
  }
}
