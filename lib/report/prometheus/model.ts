/** Rules as Prometheus reads them, and what they are made from. */
import type { Config } from '../../config/model.ts';
import type { DaemonSet } from '../../kubernetes/objects.ts';
import type { Scope } from './promql.ts';

export interface RecordingRule {
  record: string;
  expr: string;
  labels?: Record<string, string>;
}

export interface AlertingRule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export interface RuleGroup {
  name: string;
  rules: (RecordingRule | AlertingRule)[];
}

export interface RulesInput {
  config: Config;
  /** All of the cluster; those that are not required are left out. */
  daemonSets: readonly DaemonSet[];
  scope: Scope;
  /** Address at which the folder `docs` can be read, without a slash at its end. */
  docsUrl?: string;
}

/** A DaemonSet whose rules need more of kube-state-metrics than it shows by default. */
export interface RulesNote {
  /** `namespace/name`. */
  daemonSet: string;
  /** Node labels without which its rules find no node. */
  needs: string[];
  /** Node labels without which its rules take nodes of other kinds for its own. */
  refines: string[];
  /** Why its rules count and name no node, where they do. */
  untellable?: string;
}

export interface PrometheusRules {
  groups: RuleGroup[];
  notes: RulesNote[];
  /** All node labels of the notes, for `--metric-labels-allowlist=nodes=[…]`. */
  allowList: string[];
}
