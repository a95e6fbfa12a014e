/** The result of `nodegap scan` as data: the contract of `-o json` and `-o yaml` (docs/cli.md). */
import { isoTime } from '../clock.ts';
import type { Blame, Cause, Detection, Evidence, UnknownEntry } from '../gap/model.ts';
import type { CrossCheck } from '../gap/status-check.ts';
import type { GapVerdict } from '../remediation/actionable.ts';
import { gapEvidence } from './verdict-evidence.ts';

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
  /** Why it is not actionable, see docs/reason-codes.md. */
  code?: string;
  otherCauses: Cause[];
  blameReason: string;
  /** What cause and blame rest on, and what would change them. */
  evidence: Evidence[];
  blameEvidence: Evidence[];
}

export interface ReportedUnknown {
  node?: string;
  daemonSet?: string;
  reason: string;
  message: string;
  evidence: Evidence[];
}

/** What nodegap counts for a DaemonSet against what its status says: a note, no verdict. */
export interface ReportedCrossCheck {
  verdict: CrossCheck['kind'];
  /** Nodes; absent when the two cannot be compared. */
  computed?: number;
  desired?: number;
  message: string;
}

/** Keys are only ever added to this. */
export interface ScanReport {
  cluster: string;
  now: string;
  /** Sorted by node, then DaemonSet. */
  gaps: ReportedGap[];
  unknown: ReportedUnknown[];
  /** DaemonSets that were looked at. Absent where nothing was compared. */
  crossChecks?: ({ daemonSet: string } & ReportedCrossCheck)[];
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
export function scanReport(
  detection: Detection,
  verdicts: readonly GapVerdict[],
  crossChecks?: readonly CrossCheck[],
): ScanReport {
  const gaps = verdicts.map(reportedGap);
  return {
    cluster: detection.cluster,
    now: isoTime(detection.now),
    gaps,
    unknown: detection.unknown.map(reportedUnknown),
    summary: {
      nodes: detection.nodes,
      eligiblePairs: detection.eligiblePairs,
      gaps: gaps.length,
      actionable: gaps.filter((gap) => gap.actionable).length,
      unknown: detection.unknown.length,
      byCause: byCause(gaps.map((gap) => gap.cause)),
    },
    ...(crossChecks === undefined
      ? {}
      : {
          crossChecks: crossChecks.map((check) => {
            return { daemonSet: check.daemonSet, ...reportedCrossCheck(check) };
          }),
        }),
  };
}

function reportedGap(verdict: GapVerdict): ReportedGap {
  const { gap } = verdict;
  return {
    node: gap.node,
    daemonSet: gap.daemonSet,
    cause: gap.cause,
    blame: gap.blame,
    actionable: verdict.kind === 'actionable',
    since: isoTime(gap.since),
    message: gap.message,
    required: gap.required,
    ...(verdict.kind === 'actionable' ? {} : { code: verdict.code }),
    otherCauses: gap.otherCauses,
    blameReason: gap.blameReason,
    evidence: gapEvidence(gap),
    blameEvidence: gap.blameEvidence,
  };
}

/** Something unknown, as reports have it. */
export function reportedUnknown(entry: UnknownEntry): ReportedUnknown {
  const { node, daemonSet, reason, message, evidence = [] } = entry;
  return {
    ...(node === undefined ? {} : { node }),
    ...(daemonSet === undefined ? {} : { daemonSet }),
    reason,
    message,
    evidence,
  };
}

/** A cross-check, as reports have it. */
export function reportedCrossCheck(check: CrossCheck): ReportedCrossCheck {
  const { kind, message } = check;
  const numbers =
    check.kind === 'not-comparable' ? {} : { computed: check.computed, desired: check.desired };
  return { verdict: kind, ...numbers, message };
}

/** How often each cause occurs, the most frequent first. */
function byCause(causes: readonly Cause[]): Partial<Record<Cause, number>> {
  const counts = new Map<Cause, number>();
  for (const cause of causes) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return Object.fromEntries(
    [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)),
  ) as Partial<Record<Cause, number>>;
}
