/**
 * The data of the page, as it stands in it: written by the command line, read by the client program.
 *
 * Compact, since 5,000 nodes × 30 DaemonSets are 150,000 pairs: a node is the number of a pattern
 * (one character a DaemonSet), only gaps have details, and every text is kept once, with the names
 * of node and pod cut out of it (text-table.ts).
 */
import type { Blame, Cause, Ceiling } from '../../gap/model.ts';

/** Characters of a pattern. Those from `firstReason` on are pairs that are not meant, with why. */
export const cellCode = { covered: '.', notMeant: '-', gap: 'g', unknown: 'u', leftOut: 'x' };
export const firstReason = 0x100;
/** More reasons than this are not told apart. */
export const mostReasons = 1000;

export interface PageData {
  cluster: string;
  /** Epoch ms. */
  now: number;
  daemonSets: PageDaemonSet[];
  /** The nodes of one pool and zone each, in the order of `nodes`. */
  groups: { pool?: string; zone?: string; nodes: number }[];
  /** Names; within a group the worst first. */
  nodes: string[];
  /** The distinct rows of the map. */
  patterns: string[];
  /** Which pattern each node has. */
  rows: number[];
  /** Why a pair is not meant. */
  reasons: string[];
  /** See text-table.ts. */
  texts: string[];
  /** Texts of object, field, value and what would change it; the last may be missing. */
  evidence: number[][];
  /** Texts of name and detail of each step, one after the other. */
  plans: number[][];
  /** In the order of the report. See packGap. */
  gaps: PackedGap[];
  /** Node, DaemonSet (-1 for none), reason and message (texts), evidence. */
  unknown: [number, number, number, number, number[]][];
  /** Node and reason (text). */
  leftOut: [number, number][];
  /** What stands before and after a node's name in the command that explains it. */
  explain: [string, string];
}

export interface PageDaemonSet {
  /** `namespace/name`. */
  key: string;
  /** How far nodegap may go for it; absent when it is not required. */
  ceiling?: Ceiling;
}

/** A gap in numbers: places in the lists of the page, and of `causes` and `blames`. */
export interface GapNumbers {
  node: number;
  daemonSet: number;
  cause: number;
  otherCauses: number[];
  blame: number;
  required: boolean;
  /** Milliseconds before `now`. */
  age: number;
  pod?: string;
  restarts: number;
  message: number;
  blameReason: number;
  /** What would be done, or why nothing, in a few words. */
  action: number;
  /** The reason code and its sentence, when nothing would be done. */
  held?: { code: number; message: number };
  /** When something would. */
  plan?: number;
  evidence: number[];
  blameEvidence: number[];
}

export type PackedGap = [
  node: number,
  daemonSet: number,
  cause: number,
  blame: number,
  required: 0 | 1,
  age: number,
  restarts: number,
  message: number,
  blameReason: number,
  action: number,
  /** -1 when something would be done. */
  code: number,
  /** Sentence of the code, or plan. */
  sentenceOrPlan: number,
  otherCauses: number[],
  evidence: number[],
  blameEvidence: number[],
  pod?: string,
];

export function packGap(gap: GapNumbers): PackedGap {
  const { held } = gap;
  return [
    gap.node,
    gap.daemonSet,
    gap.cause,
    gap.blame,
    gap.required ? 1 : 0,
    gap.age,
    gap.restarts,
    gap.message,
    gap.blameReason,
    gap.action,
    held?.code ?? -1,
    held?.message ?? gap.plan ?? -1,
    gap.otherCauses,
    gap.evidence,
    gap.blameEvidence,
    ...(gap.pod === undefined ? ([] as const) : ([gap.pod] as const)),
  ];
}

export function unpackGap(packed: PackedGap): GapNumbers {
  const [node, daemonSet, cause, blame, required, age, restarts, message, ...rest] = packed;
  const [blameReason, action, code, sentenceOrPlan, otherCauses, evidence, blameEvidence, pod] =
    rest;
  return {
    node,
    daemonSet,
    cause,
    blame,
    required: required === 1,
    age,
    restarts,
    message,
    blameReason,
    action,
    otherCauses,
    evidence,
    blameEvidence,
    ...(code < 0 ? { plan: sentenceOrPlan } : { held: { code, message: sentenceOrPlan } }),
    ...(pod === undefined ? {} : { pod }),
  };
}

/** How a gap is drawn: nodegap would act, it would not, or the DaemonSet is not required. */
export type GapState = 'act' | 'held' | 'optional';

export function gapStateOf(gap: { required: boolean; actionable: boolean }): GapState {
  if (gap.actionable) return 'act';
  return gap.required ? 'held' : 'optional';
}

/** The letter of a gap in the map: who is to blame, so that colour is never alone. */
export const blameLetters: Record<Blame, string> = {
  node: 'N',
  daemonset: 'D',
  zone: 'Z',
  cluster: 'C',
  unclear: 'U',
};

export type { Blame, Cause };
