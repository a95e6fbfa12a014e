import { describe, expect, it } from 'vitest';
import type { AuditFinding, AuditReport } from '../../../lib/prevention/findings.ts';
import { auditNotice } from '../../../lib/report/notices/audit-notice.ts';

function finding(name: string, severity: AuditFinding['severity'] = 'warning'): AuditFinding {
  const subject = { kind: 'NodePool', name, origin: { kind: 'cluster' } } as const;
  return { check: 'no-startup-taint', severity, subject, message: 'm', why: '', change: 'secret' };
}

function report(findings: AuditFinding[], reasons: string[] = []): AuditReport {
  const notChecked = reasons.map((reason, index) => ({ check: `check-${index}`, reason }));
  return { cluster: 'prod', source: 'cluster', readAt: 0, daemonSets: [], findings, notChecked };
}

const many = Array.from({ length: 12 }, (_, index) => finding(`pool-${index}`));

describe('the notice of the audit', () => {
  it('names the first of each list and counts the rest, without the changes', () => {
    const ended = many.map(({ subject }) => `warning no-startup-taint, NodePool ${subject.name}`);
    const { body, severity } = auditNotice(report(many), { fresh: many, ended, known: [] });
    expect(severity).toBe('info');
    expect(body.match(/^ {2}warning no-startup-taint/gm)).toHaveLength(10);
    expect(body.match(/^ {2}Ended: /gm)).toHaveLength(10);
    expect(body.match(/^ {2}And 2 more/gm)).toHaveLength(2);
    expect(body).toContain('In all: 12 warnings.');
    expect(body).not.toContain('secret');
  });

  it('is a warning as soon as one of what is new is an error', () => {
    const fresh = [finding('a', 'error'), finding('b')];
    const notice = auditNotice(report(fresh), { fresh, ended: [], known: [] });
    expect(notice).toMatchObject({ kind: 'report', severity: 'warning', thread: 'prod/audit' });
  });

  it('tells each reason once for which something could not be checked', () => {
    const reasons = ['no right to read NodePools', 'no right to read NodePools', 'EKS is away'];
    const fresh = [finding('a')];
    const { body } = auditNotice(report(fresh, reasons), { fresh, ended: [], known: [] });
    expect(body.match(/Not checked: .*/g)).toEqual([
      'Not checked: no right to read NodePools.',
      'Not checked: EKS is away.',
    ]);
  });

  it('says when nothing is left to mend', () => {
    const ended = ['warning no-startup-taint, NodePool a'];
    const { body } = auditNotice(report([]), { fresh: [], ended, known: [] });
    expect(body).toContain('The audit of cluster prod sees 1 earlier finding ended.');
    expect(body).toContain('Nothing is left to mend.');
    expect(body).toContain('What to do\n  Nothing');
  });
});
