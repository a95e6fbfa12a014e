/** One template revision of a DaemonSet, by the pods of it that are there. */
import { isoTime, parseTime } from '../clock.ts';
import { keyOf, type Node, type Pod } from '../kubernetes/objects.ts';
import type { Cause } from './model.ts';
import { imagesOf } from './rollout.ts';

/** Processor architecture of a node, by the label that the kubelet sets. */
export function archOf({ metadata }: Node): string | undefined {
  return metadata.labels?.['kubernetes.io/arch'];
}

/** A moment at which something happened on a node. */
export interface Sighting {
  /** Epoch ms. */
  at: number;
  node: string;
}

/** A pod that has stayed Ready, and since `at` shows that its revision can start. */
export interface Witness extends Sighting {
  /** `namespace/name`. */
  pod: string;
  /** Epoch ms. */
  readyAt: number;
}

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
  /** By architecture of the node; undefined where the node does not tell. */
  readonly #youngest = new Map<string | undefined, Proof>();
  readonly #onYoungestNode = new Map<string | undefined, Proof>();

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

  /**
   * The youngest of its pods that have stayed Ready, on a node that can be compared with one of that
   * architecture: what starts on another proves nothing.
   */
  witnessFor(arch: string | undefined): Witness | undefined {
    return witnessOf(youngestFor(this.#youngest, arch));
  }

  /**
   * The pod that has stayed Ready on the node that joined last, with the time of that: a node that
   * joined before may still have an image that cannot be pulled any more.
   */
  pullWitnessFor(arch: string | undefined): Witness | undefined {
    return witnessOf(youngestFor(this.#onYoungestNode, arch));
  }

  seePod(created: string | undefined, pod: Pod): void {
    this.images ??= imagesOf(pod.spec);
    if (created === undefined) return;
    if (this.#first === undefined || created < this.#first) this.#first = created;
    if (this.#last === undefined || created > this.#last) this.#last = created;
  }

  seeHealthy({ created, ready, node, pod }: CoveringPod): void {
    this.healthy += 1;
    if (ready === undefined) return;
    const { name } = node.metadata;
    const arch = archOf(node);
    const proof = { ready, node: name, pod };
    if (created !== undefined && isLater(created, name, this.#youngest.get(arch))) {
      this.#youngest.set(arch, { ...proof, created });
    }
    const joined = sortable(node.metadata.creationTimestamp);
    if (joined !== undefined && isLater(joined, name, this.#onYoungestNode.get(arch))) {
      this.#onYoungestNode.set(arch, { ...proof, created: joined });
    }
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

/** A pod that covers its node; times as texts that sort. */
interface CoveringPod {
  created: string | undefined;
  ready: string | undefined;
  node: Node;
  pod: Pod;
}

/** What the time of a witness rests on. */
interface Proof {
  created: string;
  ready: string;
  node: string;
  pod: Pod;
}

/** The youngest on nodes of that architecture and on those that tell none. */
function youngestFor(
  proofs: ReadonlyMap<string | undefined, Proof>,
  arch: string | undefined,
): Proof | undefined {
  let youngest: Proof | undefined;
  for (const [on, proof] of proofs) {
    if (on !== undefined && arch !== undefined && on !== arch) continue;
    if (isLater(proof.created, proof.node, youngest)) youngest = proof;
  }
  return youngest;
}

function witnessOf(proof: Proof | undefined): Witness | undefined {
  const [at, readyAt] = [parseTime(proof?.created), parseTime(proof?.ready)];
  if (proof === undefined || at === undefined || readyAt === undefined) return undefined;
  return { at, readyAt, node: proof.node, pod: keyOf(proof.pod) };
}

/** Of two at once, the node that comes first by name, so that the order of reading plays no part. */
export function isLater(
  created: string,
  node: string,
  than: { created: string; node: string } | undefined,
): boolean {
  if (than === undefined || created > than.created) return true;
  return created === than.created && node < than.node;
}

/** As Kubernetes writes times (`2026-11-30T09:07:30Z`): such texts sort as the times do. */
export function sortable(iso: string | undefined): string | undefined {
  if (iso === undefined || (iso.length === 20 && iso.endsWith('Z'))) return iso;
  const at = parseTime(iso);
  return at === undefined ? undefined : isoTime(at);
}
