/** The result of `nodegap scan` as data: the contract of `-o json` and `-o yaml` (docs/cli.md). */
import { isoTime } from '../clock.ts';
import type { Blame, Cause, Detection, UnknownEntry } from '../gap/model.ts';
import type { GapVerdict } from '../remediation/actionable.ts';

export interface ReportedGap {
  node: string;
  /** `namespace/name`. */
  daemonSet: string;
  cause: Cause;
  blame: Blame;
  /** nodegap would act on the node now, if the cluster were in mode act. */
  actionable: boolean;
  /** ISO 8601, UTC. */
  since: string;
  message: string;
  required: boolean;
}

/** Keys are only ever added to this. */
export interface ScanReport {
  cluster: string;
  now: string;
  /** Sorted by node, then DaemonSet. */
  gaps: ReportedGap[];
  unknown: UnknownEntry[];
  summary: {
    nodes: number;
    eligiblePairs: number;
    gaps: number;
    actionable: number;
    unknown: number;
    byCause: Partial<Record<Cause, number>>;
  };
}

/** The report of one detection with the verdicts on its gaps. */
export function scanReport(detection: Detection, verdicts: readonly GapVerdict[]): ScanReport {
  const gaps = verdicts.map(({ gap, kind }) => ({
    node: gap.node,
    daemonSet: gap.daemonSet,
    cause: gap.cause,
    blame: gap.blame,
    actionable: kind === 'actionable',
    since: isoTime(gap.since),
    message: gap.message,
    required: gap.required,
  }));
  return {
    cluster: detection.cluster,
    now: isoTime(detection.now),
    gaps,
    unknown: detection.unknown.map(({ node, daemonSet, reason, message }) => ({
      ...(node === undefined ? {} : { node }),
      ...(daemonSet === undefined ? {} : { daemonSet }),
      reason,
      message,
    })),
    summary: {
      nodes: detection.nodes,
      eligiblePairs: detection.eligiblePairs,
      gaps: gaps.length,
      actionable: gaps.filter((gap) => gap.actionable).length,
      unknown: detection.unknown.length,
      byCause: byCause(gaps.map((gap) => gap.cause)),
    },
  };
}

/** How often each cause occurs, the most frequent first. */
function byCause(causes: readonly Cause[]): Partial<Record<Cause, number>> {
  const counts = new Map<Cause, number>();
  for (const cause of causes) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return Object.fromEntries(
    [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)),
  ) as Partial<Record<Cause, number>>;
}
