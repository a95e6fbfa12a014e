import type { Notice } from '../../ports.ts';
import { type AuditFinding, type AuditReport, auditSeverities } from '../../prevention/findings.ts';
import type { AuditNews } from '../../prevention/known-findings.ts';
import { plural } from '../words.ts';
import { noticeFrom } from './notice.ts';

/** Findings that stand in one notice. */
const most = 10;

/** What changed in the daily audit since people last heard of it. */
export function auditNotice(report: AuditReport, { fresh, ended }: AuditNews): Notice {
  const { cluster, findings, notChecked } = report;
  const changes = [
    ...(fresh.length > 0 ? [`found ${plural(fresh.length, 'new thing')} to mend`] : []),
    ...(ended > 0 ? [`sees ${plural(ended, 'earlier finding')} ended`] : []),
  ];
  const more = fresh.length - most;
  return noticeFrom({
    cluster,
    about: { kind: 'audit' },
    kind: 'report',
    severity: fresh.some(({ severity }) => severity === 'error') ? 'warning' : 'info',
    first: `The audit of cluster ${cluster} ${changes.join(', and ')}`,
    happened: [
      ...fresh.slice(0, most).flatMap(linesOf),
      ...(more > 0 ? [`And ${more} more`] : []),
      findings.length === 0 ? 'Nothing is left to mend' : `In all: ${countsText(findings)}`,
      ...(notChecked.length > 0
        ? [`Not everything could be checked: ${plural(notChecked.length, 'gap')} in what was seen`]
        : []),
    ],
    next: ['nodegap audits the cluster again in a day, and tells only of what has changed'],
    todo:
      findings.length === 0
        ? ['Nothing']
        : ['See every finding with the exact change that ends it: nodegap audit'],
    ids: { cluster },
  });
}

function linesOf({ severity, check, subject, message }: AuditFinding): string[] {
  const { kind, namespace, name } = subject;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return [`${severity} ${check}, ${kind} ${place}:`, `  ${message}`];
}

/** For example `2 errors, 1 note`. */
function countsText(findings: readonly AuditFinding[]): string {
  return auditSeverities
    .map((each) => ({ each, count: findings.filter(({ severity }) => severity === each).length }))
    .filter(({ count }) => count > 0)
    .map(({ each, count }) => plural(count, each))
    .join(', ');
}
