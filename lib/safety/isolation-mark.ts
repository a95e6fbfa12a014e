/** The mark on an isolated node: who isolated it, and what exactly was done. */
import type { Node, Taint } from '../kubernetes/objects.ts';
import * as z from '../zod.ts';

export const isolationAnnotation = 'nodegap.dev/isolation';

/** The taint that keeps everything without a toleration off an isolated node. It has no value. */
export const isolationTaint: Readonly<Taint> = {
  key: 'nodegap.dev/daemonset-gap',
  effect: 'NoSchedule',
};

/** Who isolates: the part of the mark that the caller knows. `at` is ISO 8601. */
export interface MarkFields {
  /** Names one deployment of nodegap for good; another one never touches its marks. */
  installation: string;
  /** ARN of the execution. */
  execution: string;
  episode: number;
  attempt: number;
  at: string;
}

/** What nodegap did to a node: exactly what undoing takes back. */
export interface IsolationMark extends MarkFields {
  /** False when the node was unschedulable before, by someone else's hand. */
  cordoned: boolean;
  tainted: boolean;
}

export type MarkReading =
  | { kind: 'none' }
  | { kind: 'ours'; mark: IsolationMark }
  | { kind: 'foreign'; mark: IsolationMark }
  | { kind: 'unreadable'; raw: string };

/** Why a node must not be written to on account of its marks. */
export interface OwnershipRefusal {
  code:
    | 'human-uncordoned'
    | 'foreign-mark'
    | 'unreadable-mark'
    | 'mark-missing'
    | 'other-execution';
  message: string;
}

const markSchema = z.object({
  installation: z.string().check(z.minLength(1)),
  execution: z.string().check(z.minLength(1)),
  episode: z.int().check(z.positive()),
  attempt: z.int().check(z.positive()),
  cordoned: z.boolean(),
  tainted: z.boolean(),
  at: z.iso.datetime(),
});

/** The mark of whichever installation, or undefined when there is none that can be read. */
export function anyMark(node: Node): IsolationMark | undefined {
  const raw = node.metadata.annotations?.[isolationAnnotation];
  if (raw === undefined) return undefined;
  try {
    return markSchema.parse(JSON.parse(raw));
  } catch {
    // Told apart from "no mark" by readMark, which every caller that acts goes through.
    return undefined;
  }
}

/** Reads the mark on a node, from the point of view of `installation`. */
export function readMark(node: Node, installation: string): MarkReading {
  const raw = node.metadata.annotations?.[isolationAnnotation];
  if (raw === undefined) return { kind: 'none' };
  const mark = anyMark(node);
  if (mark === undefined) return { kind: 'unreadable', raw };
  return mark.installation === installation ? { kind: 'ours', mark } : { kind: 'foreign', mark };
}

/**
 * True when someone took the cordon off an isolated node: a person's veto, whoever had cordoned it. A
 * mark is only ever written on a cordoned node.
 */
export function humanUncordoned(node: Node): boolean {
  return node.spec.unschedulable !== true;
}

/** Whether `taint` is nodegap's own: by key and effect, which the API server keeps unique. */
export function isIsolationTaint(taint: Taint): boolean {
  return taint.key === isolationTaint.key && taint.effect === isolationTaint.effect;
}

/** The refusal that a foreign or unreadable mark stands for. */
export function markRefusal(
  reading: Extract<MarkReading, { kind: 'foreign' | 'unreadable' }>,
): OwnershipRefusal {
  return reading.kind === 'foreign'
    ? {
        code: 'foreign-mark',
        message: `isolated by another installation of nodegap, ${reading.mark.installation}`,
      }
    : {
        code: 'unreadable-mark',
        message: `annotation ${isolationAnnotation} cannot be read, so what was done to the node is unknown: ${reading.raw.slice(0, 200)}`,
      };
}

/** The refusal that a person's uncordon stands for. */
export function uncordonRefusal(mark: IsolationMark): OwnershipRefusal {
  const isolated = mark.cordoned
    ? `cordoned by nodegap at ${mark.at}`
    : `cordoned by someone and isolated by nodegap at ${mark.at}`;
  return { code: 'human-uncordoned', message: `${isolated}, and uncordoned by someone since` };
}
