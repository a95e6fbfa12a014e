/** Which findings of the audit are new to people, and which have ended. */
import { createHash } from 'node:crypto';
import type { AuditFinding, AuditReport } from './findings.ts';

export interface AuditNews {
  /** Findings that people were not told of yet, in the order of the report. */
  fresh: AuditFinding[];
  /** How many that people know of are there no more. */
  ended: number;
  /** What people know once they have been told. */
  known: string[];
}

/**
 * Compares a report with what people know of. Numbers in a message may change every day, so a
 * finding is the same as long as check, severity and subject are. A finding of a check that could
 * not be made everywhere has not ended: nobody looked.
 */
export function auditNews(report: AuditReport, knownBefore: readonly string[]): AuditNews {
  const before = new Set(knownBefore);
  const now = new Map(report.findings.map((finding) => [markOf(finding), finding]));
  const unmade = new Set(report.notChecked.map(({ check }) => check));
  const gone = [...before].filter((mark) => !now.has(mark));
  const unseen = gone.filter((mark) => unmade.has(mark.slice(0, mark.indexOf('/'))));
  const seen = new Set<string>();
  const fresh = report.findings.filter((finding) => {
    const mark = markOf(finding);
    const isFirst = !seen.has(mark);
    seen.add(mark);
    return isFirst && !before.has(mark);
  });
  return { fresh, ended: gone.length - unseen.length, known: [...now.keys(), ...unseen].sort() };
}

/** The subject is hashed, so that thousands of findings fit into one item. */
function markOf({
  check,
  severity,
  subject: { kind, namespace = '', name },
}: AuditFinding): string {
  const subject = [severity, kind, namespace, name].join('\0');
  return `${check}/${createHash('sha256').update(subject).digest('hex').slice(0, 16)}`;
}
