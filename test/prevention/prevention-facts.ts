/** Facts of prevention by hand, for tests. */
import type {
  Found,
  NodePool,
  PreventionFacts,
  Reading,
  Workload,
  WrittenDaemonSet,
} from '../../lib/prevention/facts.ts';

export function found<T>(object: T): Found<T> {
  return { object, origin: { kind: 'cluster' } };
}

export function read<T>(...objects: T[]): Reading<T> {
  return { kind: 'read', items: objects.map(found) };
}

export function notChecked(reason = 'not asked for'): { kind: 'not-checked'; reason: string } {
  return { kind: 'not-checked', reason };
}

export function preventionFacts(facts: Partial<PreventionFacts> = {}): PreventionFacts {
  return {
    source: 'cluster',
    cluster: 'prod-a',
    readAt: Date.UTC(2026, 10, 30),
    daemonSets: [],
    nodes: read(),
    nodePools: read(),
    nodeClasses: read(),
    nodeGroups: read(),
    launchTemplates: read(),
    priorityClasses: read(),
    workloads: read(),
    configMaps: read(),
    secrets: notChecked(),
    serviceAccounts: read(),
    usage: notChecked(),
    ...facts,
  };
}

export interface DaemonSetParts {
  name: string;
  namespace?: string;
  labels?: Record<string, string>;
  podLabels?: Record<string, string>;
  template?: WrittenDaemonSet['spec']['template']['spec'];
}

export function writtenDaemonSet(parts: DaemonSetParts): WrittenDaemonSet {
  const { name, namespace = 'kube-system', labels = {}, podLabels = { app: name } } = parts;
  const template = parts.template ?? { priorityClassName: 'system-node-critical' };
  return {
    metadata: { name, namespace, uid: `uid-${name}`, labels },
    spec: {
      selector: { matchLabels: podLabels },
      template: { metadata: { labels: podLabels }, spec: template },
    },
    status: {},
    inputs: [],
  };
}

export function nodePool(name: string, spec: NodePool['spec']['template']['spec'] = {}): NodePool {
  return { metadata: { name, uid: `uid-${name}` }, spec: { template: { spec } } };
}

export function deployment(name: string, parts: Partial<Workload> = {}): Workload {
  const metadata = { name, namespace: 'kube-system', uid: `uid-${name}` };
  return { kind: 'Deployment', metadata, replicas: 2, tolerations: [], ...parts };
}
