/**
 * The audit as SARIF 2.1.0, which code-scanning pages show beside the lines of a file.
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
import { createHash } from 'node:crypto';
import { auditChecks } from '../../prevention/audit-checks.ts';
import type { AuditFinding, AuditReport, AuditSubject } from '../../prevention/findings.ts';

const schema =
  'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';

/** The words of SARIF for a severity are the same. */
const levels = { error: 'error', warning: 'warning', note: 'note' } as const;

/** One run with a rule for each check that found something. */
export function auditSarif(report: AuditReport, version: string): Record<string, unknown> {
  const { findings, notChecked } = report;
  const ids = [...new Set(findings.map(({ check }) => check))].sort();
  return {
    $schema: schema,
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'nodegap', version, rules: ids.map((id) => ruleOf(id, findings)) },
        },
        automationDetails: { id: `nodegap-audit/${report.cluster}` },
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: notChecked.map(({ check, reason }) => ({
              level: 'note',
              message: { text: `${check} was not checked: ${reason}` },
              associatedRule: { id: check },
            })),
          },
        ],
        results: findings.map((finding) => resultOf(finding, ids.indexOf(finding.check))),
      },
    ],
  };
}

function ruleOf(id: string, findings: readonly AuditFinding[]): Record<string, unknown> {
  const name = id.replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
  const why = findings.find(({ check }) => check === id)?.why ?? '';
  return {
    id,
    name,
    shortDescription: { text: titleOf(id) },
    help: { text: `${why} docs/audit.md#${id}` },
  };
}

function titleOf(id: string): string {
  return Object.entries(auditChecks).find(([check]) => check === id)?.[1] ?? id;
}

function resultOf(
  { check, severity, subject, message, why, change }: AuditFinding,
  ruleIndex: number,
): Record<string, unknown> {
  return {
    ruleId: check,
    ruleIndex,
    level: levels[severity],
    message: { text: `${nameOf(subject)}: ${message}\n${why}\n\nChange:\n${change}` },
    locations: [locationOf(subject)],
    // The same finding after the file has moved or grown is still the same.
    partialFingerprints: { 'nodegap/v1': fingerprint(check, subject, message) },
  };
}

function locationOf(subject: AuditSubject): Record<string, unknown> {
  const { kind, origin } = subject;
  const logical = { fullyQualifiedName: nameOf(subject), kind: 'resource' };
  const named = { logicalLocations: [{ ...logical, name: subject.name }] };
  if (origin.kind !== 'file') return named;
  return {
    ...named,
    physicalLocation: {
      artifactLocation: { uri: uriOf(origin.file) },
      region: { startLine: origin.line, message: { text: kind } },
    },
  };
}

/** Relative to where the command was run, with the separators of an URI. */
function uriOf(file: string): string {
  return file.split(/[\\/]/).map(encodeURIComponent).join('/');
}

export function nameOf({ kind, namespace, name }: AuditSubject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

function fingerprint(check: string, subject: AuditSubject, message: string): string {
  const text = [check, nameOf(subject), message].join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
