/** The audit: what of a cluster will, or can, leave its nodes without the DaemonSets they need. */
import type { Config } from '../config/model.ts';
import { checkAttachers } from './checks/attachers.ts';
import { type Check, contextOf, mayRun } from './checks/context.ts';
import { checkEvictions } from './checks/evictions.ts';
import { checkHostPorts, checkSurge } from './checks/host-ports.ts';
import { checkImages } from './checks/image.ts';
import { checkInputs } from './checks/inputs.ts';
import { checkLimits } from './checks/limits.ts';
import { checkPriority } from './checks/priority.ts';
import { checkReadiness } from './checks/readiness.ts';
import { checkRemoverPods } from './checks/remover-pods.ts';
import { checkRemovers } from './checks/removers.ts';
import { checkRollout } from './checks/rollout.ts';
import { checkSelectors } from './checks/selectors.ts';
import { checkStartupForms } from './checks/startup-forms.ts';
import { checkTolerations } from './checks/tolerations.ts';
import type { PreventionFacts } from './facts.ts';
import {
  type AuditFinding,
  type AuditReport,
  auditSeverities,
  type NotChecked,
} from './findings.ts';

const checks: readonly Check[] = [
  checkRemovers,
  checkAttachers,
  checkStartupForms,
  checkTolerations,
  checkRemoverPods,
  checkSelectors,
  checkEvictions,
];

/** On what a template says: without interest where it runs nowhere, as those for Windows often do. */
const templateChecks: readonly Check[] = [
  checkPriority,
  checkRollout,
  checkSurge,
  checkHostPorts,
  checkImages,
  checkReadiness,
  checkInputs,
  checkLimits,
];

/**
 * Everything that the audit finds in those facts. Nothing is concluded from what was not read: such
 * checks are in `notChecked`, with why.
 */
export function auditPrevention(facts: PreventionFacts, config: Config): AuditReport {
  const context = contextOf(facts, config);
  const running = {
    ...context,
    required: context.required.filter((required) => mayRun(context, required)),
  };
  const results = [
    ...checks.map((check) => check(context)),
    ...templateChecks.map((check) => check(running)),
  ];
  return {
    cluster: facts.cluster,
    source: facts.source,
    readAt: facts.readAt,
    daemonSets: context.required.map(({ key }) => key).sort(),
    findings: results.flatMap(({ findings }) => findings).sort(byWeight),
    notChecked: distinct(results.flatMap(({ notChecked }) => notChecked)),
  };
}

/** Errors first, then by check and subject. */
function byWeight(one: AuditFinding, other: AuditFinding): number {
  const weight = ({ severity }: AuditFinding) => auditSeverities.indexOf(severity);
  const place = ({ check, subject: { kind, namespace = '', name }, message }: AuditFinding) =>
    [check, kind, namespace, name, message].join('\0');
  const [a, b] = [place(one), place(other)];
  return weight(one) - weight(other) || (a < b ? -1 : a > b ? 1 : 0);
}

function distinct(all: readonly NotChecked[]): NotChecked[] {
  const seen = new Map(all.map((each) => [`${each.check}\0${each.reason}`, each]));
  return [...seen.values()];
}
