/** What is made to go wrong, where, and for how long. */
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import { poolOf, zoneOf } from './labels.ts';
import type { Timeline } from './timeline.ts';

export const startFaults = ['image-pull', 'config-error', 'sandbox', 'volume', 'evicted'] as const;
export const runFaults = ['crash-loop', 'oom-killed', 'never-ready'] as const;

/**
 * Faults while a pod starts, while it runs, and three more: `missing` (the controller makes no
 * pod), `create-blocked` (the API refuses it) and `stuck-terminating` (the kubelet never finishes a
 * deletion).
 */
export type FaultKind =
  | (typeof startFaults)[number]
  | (typeof runFaults)[number]
  | 'missing'
  | 'create-blocked'
  | 'stuck-terminating';

export interface Fault {
  kind: FaultKind;
  /** Gone from this time on, epoch milliseconds. */
  healsAt?: number;
  /** Only the first pod of each owner and node has it; the one that comes after it is well. */
  curedByRestart?: boolean;
}

/** Where a fault strikes: every part that is given must match. */
export interface FaultTarget {
  node?: string;
  pool?: string;
  zone?: string;
  /** `namespace/name`. */
  daemonSet?: string;
  image?: string;
}

/** A pod, or the pod that a DaemonSet would make, on a node. */
export interface FaultSubject {
  node: Node;
  daemonSet?: string;
  images: string[];
  podUid?: string;
}

interface Entry {
  target: FaultTarget;
  fault: Fault;
  /** The uid of the pod that had it first, by node and owner. */
  victims: Map<string, string>;
}

export class FaultBook {
  readonly #timeline: Timeline;
  #entries: Entry[] = [];
  readonly #listeners: (() => void)[] = [];

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** `listener` is called whenever a fault is set, cleared or healed. */
  subscribe(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Sets the fault of `target`, in place of an earlier one of exactly that target. */
  set(target: FaultTarget, fault: Fault): void {
    this.#drop(target);
    this.#entries.push({ target, fault, victims: new Map() });
    if (fault.healsAt !== undefined) {
      this.#timeline.at(fault.healsAt, () => this.#tell(), 'routine');
    }
    this.#tell();
  }

  clear(target: FaultTarget): void {
    this.#drop(target);
    this.#tell();
  }

  /** The fault that the subject has now; of several that match, the one set last. */
  of(subject: FaultSubject): Fault | undefined {
    return this.#entries.findLast((entry) => this.#strikes(entry, subject))?.fault;
  }

  /** As `of`, and remembers the pod as the one that a cure by restart will replace. */
  strike(subject: FaultSubject & { podUid: string }): Fault | undefined {
    const entry = this.#entries.findLast((candidate) => this.#strikes(candidate, subject));
    if (entry !== undefined && !entry.victims.has(placeOf(subject))) {
      entry.victims.set(placeOf(subject), subject.podUid);
    }
    return entry?.fault;
  }

  #strikes(entry: Entry, subject: FaultSubject): boolean {
    const { target, fault } = entry;
    const victim = entry.victims.get(placeOf(subject));
    if (fault.healsAt !== undefined && fault.healsAt <= this.#timeline.now) return false;
    if (fault.curedByRestart && victim !== undefined && victim !== subject.podUid) return false;
    return (
      agrees(target.node, subject.node.metadata.name) &&
      agrees(target.pool, poolOf(subject.node)) &&
      agrees(target.zone, zoneOf(subject.node)) &&
      agrees(target.daemonSet, subject.daemonSet) &&
      (target.image === undefined || subject.images.includes(target.image))
    );
  }

  #drop(target: FaultTarget): void {
    this.#entries = this.#entries.filter((entry) => identity(entry.target) !== identity(target));
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The subject that a pod on a node is. */
export function podSubject(node: Node, pod: Pod): FaultSubject & { podUid: string } {
  const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller);
  return {
    node,
    images: imagesOf(pod.spec),
    podUid: pod.metadata.uid,
    ...(owner?.kind === 'DaemonSet'
      ? { daemonSet: `${pod.metadata.namespace}/${owner.name}` }
      : {}),
  };
}

export function imagesOf(spec: Pod['spec']): string[] {
  return (spec.containers ?? []).flatMap(({ image }) => (image === undefined ? [] : [image]));
}

function placeOf({ node, daemonSet, images }: FaultSubject): string {
  return JSON.stringify([node.metadata.uid, daemonSet ?? images]);
}

function agrees(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === actual;
}

function identity({ node, pool, zone, daemonSet, image }: FaultTarget): string {
  return JSON.stringify([node, pool, zone, daemonSet, image]);
}
