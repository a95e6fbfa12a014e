/** The audit for people: each finding under what it is about, with the change that ends it. */

import type { AuditFinding, AuditReport, AuditSeverity } from '../../prevention/findings.ts';
import { printable } from '../../printable.ts';
import type { Paint, Style } from '../style.ts';
import { plural } from '../words.ts';
import { countFindings } from './audit-json.ts';
import { nameOf } from './audit-sarif.ts';

export interface AuditTableOptions {
  style: Style;
  /** Characters of a line; 80 where nobody says. */
  width: number | undefined;
}

export function auditTable(report: AuditReport, { style, width = 80 }: AuditTableOptions): string {
  const blocks = bySubject(report.findings).map(([name, findings]) =>
    [
      heading(name, findings, style),
      ...findings.map((finding) => findingText(finding, style, width)),
    ].join('\n'),
  );
  return `${[...blocks, ...notCheckedText(report, style, width), summary(report, style)].join('\n\n')}\n`;
}

/** In the order in which each was found first: those with errors come first. */
function bySubject(findings: readonly AuditFinding[]): [string, AuditFinding[]][] {
  const groups = new Map<string, AuditFinding[]>();
  for (const finding of findings) {
    const { origin } = finding.subject;
    const where = origin.kind === 'file' ? ` (${origin.file}:${origin.line})` : '';
    const name = `${nameOf(finding.subject)}${where}`;
    groups.set(name, [...(groups.get(name) ?? []), finding]);
  }
  return [...groups];
}

function heading(name: string, findings: readonly AuditFinding[], style: Style): string {
  return `${style.bold(printable(name))}${style.dim(`, ${plural(findings.length, 'finding')}`)}`;
}

function findingText(finding: AuditFinding, style: Style, width: number): string {
  const { severity, check, message, why, change } = finding;
  const paint = paintOf(severity, style);
  return [
    `  ${paint(severity)} ${style.name(check)}`,
    ...wrap(printable(message), width - 4).map((line) => `    ${line}`),
    ...wrap(printable(why), width - 4).map((line) => `    ${style.dim(line)}`),
    ...change
      .split('\n')
      .flatMap((line) => changeLines(printable(line), width - 6))
      .map((line) => `      ${style.good(line)}`),
  ].join('\n');
}

/** What is there to be copied stays whole, however long; a comment for the reader is broken. */
function changeLines(line: string, width: number): string[] {
  const comment = /^# (?!kubectl )(.*)$/.exec(line)?.[1];
  return comment === undefined ? [line] : wrap(comment, width - 2).map((part) => `# ${part}`);
}

function paintOf(severity: AuditSeverity, style: Style): Paint {
  return { error: style.bad, warning: style.warning, note: style.dim }[severity];
}

function notCheckedText({ notChecked }: AuditReport, style: Style, width: number): string[] {
  if (notChecked.length === 0) return [];
  const checks = new Map<string, string[]>();
  for (const { check, reason } of notChecked) {
    checks.set(reason, [...(checks.get(reason) ?? []), check]);
  }
  const lines = [...checks].flatMap(([reason, names]) =>
    wrap(`${printable(reason)}: ${[...new Set(names)].join(', ')}`, width - 4).map(
      (line, index) => `  ${index === 0 ? '' : '  '}${line}`,
    ),
  );
  return [[style.bold('not checked'), ...lines].join('\n')];
}

function summary(report: AuditReport, style: Style): string {
  const { error, warning, note } = countFindings(report);
  const counts = [plural(error, 'error'), plural(warning, 'warning'), plural(note, 'note')].join(
    ', ',
  );
  const of = `${plural(report.daemonSets.length, 'required DaemonSet')} of ${printable(report.cluster)}`;
  const well = error + warning === 0 ? style.good('✓ ') : '';
  return `${well}${counts}; ${of}. Each check: docs/audit.md`;
}

/** Breaks at spaces; a word that is longer than a line stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
