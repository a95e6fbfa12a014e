/**
 * How the other nodes of a DaemonSet fare: what blame is judged by.
 *
 * Gotcha: it sees every pod, so times are compared as texts and read only when somebody asks.
 */
import { isoTime, parseTime } from '../clock.ts';
import { conditionOf, keyOf, type Node, type Pod } from '../kubernetes/objects.ts';
import type { Cause } from './model.ts';
import { zoneOf } from './node-kinds.ts';
import { imagesOf, revisionOf } from './rollout.ts';

/** A moment at which something happened on a node. */
export interface Sighting {
  /** Epoch ms. */
  at: number;
  node: string;
}

/** A pod that shows that its revision can start now: made at `at`, and Ready for long enough. */
export interface Witness extends Sighting {
  /** `namespace/name`. */
  pod: string;
  /** Epoch ms. */
  readyAt: number;
}

/** A zone, or everything outside it, in nodes. */
export interface Share {
  nodes: number;
  failing: number;
}

/** The nodes of one DaemonSet by how it fares there, in numbers. */
export class Peers {
  /** Nodes where it should run and of which something can be said. */
  judged = 0;
  /** Nodes that a Ready pod covers, as far as it is known. */
  covered = 0;
  /** Those of them whose pod has stayed Ready. */
  healthy = 0;
  notReadyNodes = 0;
  readonly #latestPod = new Latest();
  readonly #latestReadyPod = new Latest();
  /** Ready since later than this is too short to prove anything. */
  readonly #steadySince: string;
  readonly #revisions = new Map<string, RevisionView>();
  readonly #gapsByCause = new Map<Cause, number>();
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
    view?.seeHealthy(created, ready, name, pod);
  }

  /** A node that a quick read found surely healthy; nothing of its pod is known. */
  addCovered(node: Node): void {
    this.judged += 1;
    this.covered += 1;
    this.healthy += 1;
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

/** One template revision, by the pods of it that are there. */
export class RevisionView {
  readonly name: string;
  /** Nodes that a Ready pod of it covers. */
  covered = 0;
  /** Those of them whose pod has stayed Ready. */
  healthy = 0;
  /** Nodes where a pod of it fails. */
  failing = 0;
  /** Images of its containers, as far as a pod tells. */
  images: string | undefined;
  readonly #gapsByCause = new Map<Cause, number>();
  #first: string | undefined;
  #last: string | undefined;
  #witness: { created: string; ready: string; node: string; pod: Pod } | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** When the oldest of its pods was made, epoch ms. */
  get firstPod(): number {
    return parseTime(this.#first) ?? Number.NEGATIVE_INFINITY;
  }

  /** When the youngest of its pods was made, epoch ms. */
  get lastPod(): number {
    return parseTime(this.#last) ?? Number.NEGATIVE_INFINITY;
  }

  /** The youngest of its pods that have stayed Ready. */
  get witness(): Witness | undefined {
    if (this.#witness === undefined) return undefined;
    const { created, ready, node, pod } = this.#witness;
    const [at, readyAt] = [parseTime(created), parseTime(ready)];
    return at === undefined || readyAt === undefined
      ? undefined
      : { at, readyAt, node, pod: keyOf(pod) };
  }

  seePod(created: string | undefined, pod: Pod): void {
    this.images ??= imagesOf(pod.spec);
    if (created === undefined) return;
    if (this.#first === undefined || created < this.#first) this.#first = created;
    if (this.#last === undefined || created > this.#last) this.#last = created;
  }

  seeHealthy(created: string | undefined, ready: string | undefined, node: string, pod: Pod): void {
    this.healthy += 1;
    if (created === undefined || ready === undefined) return;
    if (isLater(created, node, this.#witness)) this.#witness = { created, ready, node, pod };
  }

  seeGap(cause: Cause): void {
    this.failing += 1;
    this.#gapsByCause.set(cause, this.withCause(cause) + 1);
  }

  /** Nodes whose gap has that cause. */
  withCause(cause: Cause): number {
    return this.#gapsByCause.get(cause) ?? 0;
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

/** Of two at once, the node that comes first by name, so that the order of reading plays no part. */
function isLater(
  created: string,
  node: string,
  than: { created: string; node: string } | undefined,
): boolean {
  if (than === undefined || created > than.created) return true;
  return created === than.created && node < than.node;
}

/** As Kubernetes writes times (`2026-11-30T09:07:30Z`): such texts sort as the times do. */
function sortable(iso: string | undefined): string | undefined {
  if (iso === undefined || (iso.length === 20 && iso.endsWith('Z'))) return iso;
  const at = parseTime(iso);
  return at === undefined ? undefined : isoTime(at);
}
