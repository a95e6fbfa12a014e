/** What the audit says: findings, each with the exact change that ends it. */
import type { Origin } from './facts.ts';

/** `error`: it will leave nodes empty or stuck. `warning`: it can. `note`: worth knowing. */
export const auditSeverities = ['error', 'warning', 'note'] as const;
export type AuditSeverity = (typeof auditSeverities)[number];

/** What a finding is about. */
export interface AuditSubject {
  /** `DaemonSet`, `NodePool`, `NodeGroup`, `LaunchTemplate`, `Deployment`, … */
  kind: string;
  namespace?: string;
  name: string;
  origin: Origin;
}

export interface AuditFinding {
  /** Stable code of the check: `remover-without-attacher`. docs/audit.md has one section each. */
  check: string;
  severity: AuditSeverity;
  subject: AuditSubject;
  /** One sentence: what is so. */
  message: string;
  /** One or two sentences: what it does to a node or its workload. */
  why: string;
  /** What to write, as a patch or a command that can be used as it stands. */
  change: string;
}

/** A check that could not be made on something, and why. */
export interface NotChecked {
  check: string;
  reason: string;
}

export interface AuditReport {
  cluster: string;
  source: 'cluster' | 'dump' | 'manifests';
  /** Epoch ms. */
  readAt: number;
  /** Required DaemonSets that were looked at, `namespace/name`. */
  daemonSets: string[];
  /** Errors first, then by check and subject. */
  findings: AuditFinding[];
  notChecked: NotChecked[];
}
