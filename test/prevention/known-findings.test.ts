import { describe, expect, it } from 'vitest';
import type { AuditFinding, AuditReport } from '../../lib/prevention/findings.ts';
import { auditNews, mostWithText } from '../../lib/prevention/known-findings.ts';

function finding(name: string, more: Partial<AuditFinding> = {}): AuditFinding {
  return {
    check: 'image-tag',
    severity: 'warning',
    subject: { kind: 'DaemonSet', namespace: 'ops', name, origin: { kind: 'cluster' } },
    message: 'its image has no tag',
    why: '',
    change: '',
    ...more,
  };
}

function report(findings: AuditFinding[], unmade: string[] = []): AuditReport {
  const notChecked = unmade.map((check) => ({ check, reason: 'no right' }));
  return { cluster: 'prod', source: 'cluster', readAt: 0, daemonSets: [], findings, notChecked };
}

const { known } = auditNews(report([finding('a'), finding('b')]), []);

describe('auditNews', () => {
  it('tells what nobody was told of', () => {
    const news = auditNews(report([finding('a'), finding('b'), finding('c')]), known);
    expect(news).toMatchObject({ fresh: [finding('c')], ended: [] });
    expect(news.known).toHaveLength(3);
  });

  it('takes another number in the message for the same finding, and another severity for a new one', () => {
    const same = finding('a', { message: 'its image has no tag, on 7 nodes' });
    const worse = finding('b', { severity: 'error' });
    expect(auditNews(report([same, worse]), known)).toMatchObject({
      fresh: [worse],
      ended: ['warning image-tag, DaemonSet ops/b'],
    });
  });

  it('tells two findings of one check on one subject as one', () => {
    const twice = [finding('c'), finding('c', { message: 'of its second container' })];
    expect(auditNews(report(twice), [])).toMatchObject({ fresh: [finding('c')] });
  });

  it('tells what has ended, unless nobody looked', () => {
    expect(auditNews(report([finding('a')]), known)).toMatchObject({
      fresh: [],
      ended: ['warning image-tag, DaemonSet ops/b'],
    });
    const unseen = auditNews(report([finding('a')], ['image-tag']), known);
    expect(unseen).toEqual({ fresh: [], ended: [], known });
  });

  it('takes a note for no news, and a warning that became one for ended', () => {
    const note = finding('a', { severity: 'note' });
    expect(auditNews(report([note]), [])).toEqual({ fresh: [], ended: [], known: [] });
    expect(auditNews(report([note, finding('b')]), known)).toMatchObject({
      fresh: [],
      ended: ['warning image-tag, DaemonSet ops/a'],
    });
  });

  it('keeps the texts of some only, and knows all of them again', () => {
    const many = Array.from({ length: mostWithText + 2 }, (_, index) => finding(`n${index}`));
    const told = auditNews(report(many), []);
    expect(told.known.filter((entry) => entry.includes(' '))).toHaveLength(mostWithText);
    expect(auditNews(report(many), told.known)).toMatchObject({ fresh: [], ended: [] });
    const ended = auditNews(report([]), told.known).ended;
    expect(ended).toHaveLength(many.length);
    expect(ended.filter((text) => text === 'image-tag')).toHaveLength(2);
  });
});
