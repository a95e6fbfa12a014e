import type { Notice } from '../../ports.ts';
import {
  type AuditFinding,
  type AuditReport,
  auditSeverities,
  type NotChecked,
} from '../../prevention/findings.ts';
import { type AuditNews, findingText } from '../../prevention/known-findings.ts';
import { plural } from '../words.ts';
import { noticeFrom } from './notice.ts';

/** Of each list so many stand in one notice. */
const most = 10;

/** What changed in the daily audit since people last heard of it. */
export function auditNotice(report: AuditReport, { fresh, ended }: AuditNews): Notice {
  const { cluster, findings, notChecked } = report;
  const changes = [
    ...(fresh.length > 0 ? [`found ${plural(fresh.length, 'new thing')} to mend`] : []),
    ...(ended.length > 0 ? [`sees ${plural(ended.length, 'earlier finding')} ended`] : []),
  ];
  return noticeFrom({
    cluster,
    about: { kind: 'audit' },
    kind: 'report',
    severity: fresh.some(({ severity }) => severity === 'error') ? 'warning' : 'info',
    first: `The audit of cluster ${cluster} ${changes.join(', and ')}`,
    happened: [
      ...fresh.slice(0, most).flatMap(linesOf),
      ...andMore(fresh),
      ...ended.slice(0, most).map((text) => `Ended: ${text}`),
      ...andMore(ended),
      findings.length === 0 ? 'Nothing is left to mend' : `In all: ${countsText(findings)}`,
      ...notCheckedLines(notChecked),
    ],
    next: ['nodegap audits the cluster again in a day, and tells only of what has changed'],
    todo:
      findings.length === 0
        ? ['Nothing']
        : ['See every finding with the exact change that ends it: nodegap audit'],
    ids: { cluster },
  });
}

function linesOf(finding: AuditFinding): string[] {
  return [`${findingText(finding)}:`, `  ${finding.message}`];
}

function andMore({ length }: readonly unknown[]): string[] {
  return length > most ? [`And ${length - most} more`] : [];
}

/** One line a reason, since one right that is missing stops many checks. */
function notCheckedLines(notChecked: readonly NotChecked[]): string[] {
  const reasons = [...new Set(notChecked.map(({ reason }) => reason))];
  return [...reasons.slice(0, most).map((reason) => `Not checked: ${reason}`), ...andMore(reasons)];
}

/** For example `2 errors, 1 note`. */
function countsText(findings: readonly AuditFinding[]): string {
  return auditSeverities
    .map((each) => ({ each, count: findings.filter(({ severity }) => severity === each).length }))
    .filter(({ count }) => count > 0)
    .map(({ each, count }) => plural(count, each))
    .join(', ');
}
