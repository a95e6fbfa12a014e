/** The result of `nodegap scan` as data: the contract of `-o json` and `-o yaml` (docs/cli.md). */
import { isoTime } from '../clock.ts';
import type {
  Blame,
  Cause,
  Ceiling,
  ConditionFault,
  Detection,
  Evidence,
  UnknownEntry,
} from '../gap/model.ts';
import type { CrossCheck } from '../gap/status-check.ts';
import type { ConditionVerdict, GapVerdict } from '../remediation/actionable.ts';
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

/** A node with a condition that the configuration names. */
export interface ReportedConditionFault {
  node: string;
  condition: ConditionFault['condition'];
  blame: Blame;
  /** nodegap would act on the node now, if the cluster were in mode act. */
  actionable: boolean;
  /** ISO 8601, UTC. */
  since: string;
  message: string;
  /** The furthest that nodegap would go. */
  ceiling: Ceiling;
  /** Why that is less than the configuration says. */
  loweredBecause?: string;
  /** Why it is not actionable, see docs/reason-codes.md. */
  code?: string;
  blameReason: string;
  evidence: Evidence[];
  blameEvidence: Evidence[];
}

export interface ReportedUnknown {
  node?: string;
  daemonSet?: string;
  /** Type of a node condition. */
  condition?: string;
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
  /** Sorted by node, then condition. Absent where the configuration names no conditions. */
  conditionFaults?: ReportedConditionFault[];
  unknown: ReportedUnknown[];
  /** DaemonSets that were looked at. Absent where nothing was compared. */
  crossChecks?: ({ daemonSet: string } & ReportedCrossCheck)[];
  summary: {
    nodes: number;
    eligiblePairs: number;
    gaps: number;
    actionable: number;
    unknown: number;
    /** Faults of node conditions, and those of them that nodegap would act on. */
    conditionFaults?: { found: number; actionable: number };
    byCause: Partial<Record<Cause, number>>;
  };
}

/** The report of one detection with the verdicts on its gaps. */
export function scanReport(
  detection: Detection,
  verdicts: readonly GapVerdict[],
  crossChecks?: readonly CrossCheck[],
  conditions: readonly ConditionVerdict[] = [],
): ScanReport {
  const faults = conditions.map(reportedConditionFault);
  const { conditionFaults } = detection;
  const gaps = verdicts.map(reportedGap);
  return {
    cluster: detection.cluster,
    now: isoTime(detection.now),
    gaps,
    ...(conditionFaults === undefined ? {} : { conditionFaults: faults }),
    unknown: detection.unknown.map(reportedUnknown),
    summary: {
      nodes: detection.nodes,
      eligiblePairs: detection.eligiblePairs,
      gaps: gaps.length,
      actionable: gaps.filter((gap) => gap.actionable).length,
      unknown: detection.unknown.length,
      ...(conditionFaults === undefined
        ? {}
        : {
            conditionFaults: {
              found: faults.length,
              actionable: faults.filter((fault) => fault.actionable).length,
            },
          }),
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

/** A fault of a node condition, as reports have it. */
export function reportedConditionFault(verdict: ConditionVerdict): ReportedConditionFault {
  const { gap: fault } = verdict;
  return {
    node: fault.node,
    condition: fault.condition,
    blame: fault.blame,
    actionable: verdict.kind === 'actionable',
    since: isoTime(fault.since),
    message: fault.message,
    ceiling: fault.ceiling,
    ...(fault.loweredBecause === undefined ? {} : { loweredBecause: fault.loweredBecause }),
    ...(verdict.kind === 'actionable' ? {} : { code: verdict.code }),
    blameReason: fault.blameReason,
    evidence: fault.evidence,
    blameEvidence: fault.blameEvidence,
  };
}

/** Something unknown, as reports have it. */
export function reportedUnknown(entry: UnknownEntry): ReportedUnknown {
  const { node, daemonSet, condition, reason, message, evidence = [] } = entry;
  return {
    ...(node === undefined ? {} : { node }),
    ...(daemonSet === undefined ? {} : { daemonSet }),
    ...(condition === undefined ? {} : { condition }),
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
