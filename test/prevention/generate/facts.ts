/** A cluster for the generator: Cilium, EBS CSI, a log agent, and pools of several kinds. */
import { loadConfig } from '../../../lib/config/load.ts';
import type { Config } from '../../../lib/config/model.ts';
import type {
  NodeClass,
  PreventionFacts,
  WrittenNodeGroup,
} from '../../../lib/prevention/facts.ts';
import {
  deployment,
  found,
  nodePool,
  preventionFacts,
  read,
  writtenDaemonSet,
} from '../prevention-facts.ts';

export const cilium = writtenDaemonSet({
  name: 'cilium',
  podLabels: { 'k8s-app': 'cilium' },
  template: {
    priorityClassName: 'system-node-critical',
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: 'cilium-agent', image: 'quay.io/cilium/cilium:v1.18.2' }],
  },
});

export const ebs = writtenDaemonSet({
  name: 'ebs-csi-node',
  template: {
    priorityClassName: 'system-node-critical',
    tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    containers: [{ name: 'ebs-plugin', image: 'eks/aws-ebs-csi-driver:v1.45.0' }],
  },
});

export const logAgent = writtenDaemonSet({
  name: 'fluent-bit',
  namespace: 'logging',
  template: { containers: [{ name: 'main', image: 'fluent/fluent-bit:4.1' }] },
});

export const nodeClass: NodeClass = {
  kind: 'EC2NodeClass',
  metadata: { name: 'default', uid: 'uid-class' },
  spec: { amiSelectorTerms: [{ alias: 'al2023@latest' }] },
};

export const pool = nodePool('general', {
  nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  startupTaints: [{ key: 'example.com/warming-up', effect: 'NoSchedule' }],
});

export const nodeGroup: WrittenNodeGroup = {
  name: 'system',
  labels: { role: 'system' },
  taints: [],
  launchTemplate: { id: 'lt-1', version: '3' },
};

export const ciliumOperator = deployment('cilium-operator', {
  containers: [{ name: 'cilium-operator', image: 'quay.io/cilium/operator-aws:v1.18.2' }],
});

export function clusterFacts(facts: Partial<PreventionFacts> = {}): PreventionFacts {
  return preventionFacts({
    daemonSets: [cilium, ebs, logAgent].map(found),
    nodePools: read(pool),
    nodeClasses: read(nodeClass),
    workloads: read(ciliumOperator),
    ...facts,
  });
}

export function config(mode: 'act' | 'observe' = 'act', required = defaultRequired): Config {
  return loadConfig(
    `clusters:\n  - name: prod-a\n    region: eu-central-1\n    mode: ${mode}\nrequiredDaemonSets:\n${required}`,
    'nodegap.yaml',
  ).config;
}

export const defaultRequired = `  - priorityClass: system-node-critical
    action: replace
  - name: logging/fluent-bit
    action: isolate
`;
