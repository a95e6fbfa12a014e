/** What the simulated cluster stores and serves. */
import type {
  DaemonSet,
  KubernetesEvent,
  Node,
  NodeClaim,
  ObjectMeta,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Taint,
  VolumeAttachment,
} from '../../lib/kubernetes/objects.ts';

/** karpenter.sh/v1 NodePool, as far as the simulation uses it. */
export interface NodePool {
  metadata: ObjectMeta;
  spec: {
    template: {
      metadata?: { labels?: Record<string, string> };
      spec: {
        nodeClassRef: { group: string; kind: string; name: string };
        taints?: Taint[];
        startupTaints?: Taint[];
      };
    };
  };
  status: { nodes?: number };
}

export interface ConfigMap {
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

export interface Lease {
  metadata: ObjectMeta;
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface Namespace {
  metadata: ObjectMeta;
}

/** The stored types by the plural that the API's paths use. */
export interface Kinds {
  nodes: Node;
  pods: Pod;
  events: KubernetesEvent;
  daemonsets: DaemonSet;
  poddisruptionbudgets: PodDisruptionBudget;
  persistentvolumeclaims: PersistentVolumeClaim;
  volumeattachments: VolumeAttachment;
  nodeclaims: NodeClaim;
  nodepools: NodePool;
  configmaps: ConfigMap;
  leases: Lease;
  namespaces: Namespace;
}
export type Resource = keyof Kinds;

export interface ResourceInfo {
  resource: Resource;
  kind: string;
  /** Empty for the core group. */
  group: string;
  version: string;
  namespaced: boolean;
  /** The API server counts spec changes of this kind in metadata.generation. */
  hasGeneration: boolean;
}

export const resourceTable: readonly ResourceInfo[] = [
  info('nodes', 'Node', '', 'v1', false, false),
  info('pods', 'Pod', '', 'v1', true, false),
  info('events', 'Event', '', 'v1', true, false),
  info('daemonsets', 'DaemonSet', 'apps', 'v1', true, true),
  info('poddisruptionbudgets', 'PodDisruptionBudget', 'policy', 'v1', true, true),
  info('persistentvolumeclaims', 'PersistentVolumeClaim', '', 'v1', true, false),
  info('volumeattachments', 'VolumeAttachment', 'storage.k8s.io', 'v1', false, false),
  info('nodeclaims', 'NodeClaim', 'karpenter.sh', 'v1', false, true),
  info('nodepools', 'NodePool', 'karpenter.sh', 'v1', false, true),
  info('configmaps', 'ConfigMap', '', 'v1', true, false),
  info('leases', 'Lease', 'coordination.k8s.io', 'v1', true, false),
  info('namespaces', 'Namespace', '', 'v1', false, false),
];

function info(
  resource: Resource,
  kind: string,
  group: string,
  version: string,
  namespaced: boolean,
  hasGeneration: boolean,
): ResourceInfo {
  return { resource, kind, group, version, namespaced, hasGeneration };
}

const byResource = new Map(resourceTable.map((entry) => [entry.resource, entry]));

export function infoOf(resource: Resource): ResourceInfo {
  const entry = byResource.get(resource);
  if (entry === undefined) throw new Error(`no such resource: ${resource}`);
  return entry;
}

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf(entry: ResourceInfo): string {
  return entry.group === '' ? entry.version : `${entry.group}/${entry.version}`;
}
