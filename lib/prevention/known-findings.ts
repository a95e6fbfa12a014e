/**
 * Which errors and warnings of the audit are new to people, and which have ended. Notes are worth
 * knowing, and no news.
 */
import { createHash } from 'node:crypto';
import type { AuditFinding, AuditReport } from './findings.ts';

export interface AuditNews {
  /** Errors and warnings that people were not told of yet, in the order of the report. */
  fresh: AuditFinding[];
  /** Those that people know of and that are there no more, as `findingText` has them. */
  ended: string[];
  /** What people know once they have been told. */
  known: string[];
}

/** So many are kept with their text; of more only the check is told when they end. */
export const mostWithText = 300;

/**
 * Compares a report with what people know of. Numbers in a message may change every day, so a
 * finding is the same as long as check, severity and subject are. A finding of a check that could
 * not be made everywhere has not ended: nobody looked.
 */
export function auditNews(report: AuditReport, knownBefore: readonly string[]): AuditNews {
  const before = new Map(knownBefore.map((entry) => [entry.split(' ', 1)[0] ?? '', entry]));
  const urgent = report.findings.filter(({ severity }) => severity !== 'note');
  const now = new Map(urgent.map((finding) => [markOf(finding), finding]));
  const unmade = new Set(report.notChecked.map(({ check }) => check));
  const gone = [...before].filter(([mark]) => !now.has(mark));
  const unseen = gone.filter(([mark]) => unmade.has(checkOf(mark)));
  const seen = new Set<string>();
  const fresh = urgent.filter((finding) => {
    const mark = markOf(finding);
    const isFirst = !seen.has(mark);
    seen.add(mark);
    return isFirst && !before.has(mark);
  });
  const known = [
    ...[...now].map(([mark, finding]) => [mark, `${mark} ${findingText(finding)}`] as const),
    ...unseen,
  ];
  return {
    fresh,
    ended: gone
      .filter(([mark]) => !unmade.has(checkOf(mark)))
      .map(([mark, entry]) => entry.slice(mark.length + 1) || checkOf(mark))
      .sort(),
    known: known.map(([mark, entry], index) => (index < mostWithText ? entry : mark)).sort(),
  };
}

/** Which finding it is, in one line: `warning image-tag, DaemonSet ops/agent`. */
export function findingText({ severity, check, subject }: AuditFinding): string {
  const { kind, namespace, name } = subject;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return `${severity} ${check}, ${kind} ${place}`;
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

function checkOf(mark: string): string {
  return mark.slice(0, mark.indexOf('/'));
}
