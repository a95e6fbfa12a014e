/** What the audit says of facts by hand, for the tables of its checks. */
import { loadConfig } from '../../lib/config/load.ts';
import type { Config } from '../../lib/config/model.ts';
import type { Node, Taint } from '../../lib/kubernetes/objects.ts';
import { auditPrevention } from '../../lib/prevention/audit.ts';
import type { AuditCheck } from '../../lib/prevention/audit-checks.ts';
import type {
  InputReference,
  PreventionFacts,
  WrittenContainer,
  WrittenDaemonSet,
  WrittenNodeGroup,
  WrittenPodSpec,
} from '../../lib/prevention/facts.ts';
import type { AuditFinding } from '../../lib/prevention/findings.ts';
import { found, preventionFacts } from './prevention-facts.ts';

/** nodegap.yaml with cluster prod-a in mode act, and what is added to it. */
export function configOf(more = '', mode = 'act'): Config {
  const text = `clusters:\n  - { name: prod-a, region: eu-west-1, mode: ${mode} }\n${more}`;
  return loadConfig(text, 'nodegap.yaml').config;
}

export const tolerateAll = [{ operator: 'Exists' }];

export interface AgentParts {
  name?: string;
  labels?: Record<string, string>;
  template?: WrittenPodSpec;
  container?: Partial<WrittenContainer>;
  spec?: Partial<WrittenDaemonSet['spec']>;
  inputs?: InputReference[];
}

/** A required DaemonSet with which the audit has no quarrel. */
export function agent(parts: AgentParts = {}): WrittenDaemonSet {
  const { name = 'agent', labels, template, container, spec, inputs = [] } = parts;
  const podLabels = { app: name };
  return {
    metadata: { name, namespace: 'kube-system', uid: `uid-${name}`, ...(labels && { labels }) },
    spec: {
      selector: { matchLabels: podLabels },
      minReadySeconds: 30,
      ...spec,
      template: {
        metadata: { labels: podLabels },
        spec: {
          priorityClassName: 'system-node-critical',
          tolerations: tolerateAll,
          containers: [
            {
              name: 'main',
              image: 'example.com/agent:v1.2.3',
              readinessProbe: { httpGet: { path: '/ready', port: 8080 } },
              ...container,
            },
          ],
          ...template,
        },
      },
    },
    status: {},
    inputs,
  };
}

export function node(
  name: string,
  labels: Record<string, string> = {},
  taints: Taint[] = [],
): Node {
  return {
    metadata: { name, uid: `uid-${name}`, labels: { 'kubernetes.io/os': 'linux', ...labels } },
    spec: { providerID: `aws:///eu-west-1a/i-${name}`, taints },
    status: {},
  };
}

export function nodeGroup(name: string, more: Partial<WrittenNodeGroup> = {}): WrittenNodeGroup {
  return { name, labels: {}, taints: [], ...more };
}

export const noSchedule = (key: string): Taint => ({ key, effect: 'NoSchedule' });
export const noExecute = (key: string): Taint => ({ key, effect: 'NoExecute' });

export interface Audited {
  daemonSets?: WrittenDaemonSet[];
  facts?: Partial<PreventionFacts>;
  config?: Config;
}

export function audit({ daemonSets = [agent()], facts = {}, config = configOf() }: Audited) {
  return auditPrevention(preventionFacts({ daemonSets: daemonSets.map(found), ...facts }), config);
}

/** Findings of a check as `severity Kind name`. */
export function said(check: AuditCheck, audited: Audited): string[] {
  return findings(check, audited).map(
    ({ severity, subject }) => `${severity} ${subject.kind} ${subject.name}`,
  );
}

export function findings(check: AuditCheck, audited: Audited): AuditFinding[] {
  return audit(audited).findings.filter((each) => each.check === check);
}

/** Reasons why a check was not made. */
export function unmade(check: AuditCheck, audited: Audited): string[] {
  return audit(audited)
    .notChecked.filter((each) => each.check === check)
    .map(({ reason }) => reason);
}
