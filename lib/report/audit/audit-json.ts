/** The audit as data, for other programs. */
import { isoTime } from '../../clock.ts';
import {
  type AuditReport,
  type AuditSeverity,
  auditSeverities,
} from '../../prevention/findings.ts';

/** How many findings there are of each severity. */
export type AuditCounts = Record<AuditSeverity, number>;

export function countFindings({ findings }: Pick<AuditReport, 'findings'>): AuditCounts {
  const count = (severity: AuditSeverity) =>
    findings.filter((finding) => finding.severity === severity).length;
  return { error: count('error'), warning: count('warning'), note: count('note') };
}

/** Whether any finding is at least that severe. */
export function hasAtLeast({ findings }: AuditReport, least: AuditSeverity): boolean {
  const limit = auditSeverities.indexOf(least);
  return findings.some(({ severity }) => auditSeverities.indexOf(severity) <= limit);
}

/** Grows only: a program that reads it goes on working. */
export function auditData(report: AuditReport): Record<string, unknown> {
  const { cluster, source, readAt, daemonSets, findings, notChecked } = report;
  return {
    schemaVersion: 1,
    cluster,
    source,
    at: isoTime(readAt),
    daemonSets,
    summary: { ...countFindings(report), notChecked: notChecked.length },
    findings,
    notChecked,
  };
}
