/** Objects for tests: each builder gives a whole, healthy object, and takes what differs. */
import type {
  DaemonSet,
  Node,
  NodeClaim,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Taint,
  Toleration,
  Volume,
  VolumeAttachment,
} from '../../lib/kubernetes/objects.ts';
import type { IsolationMark, MarkFields } from '../../lib/safety/ownership.ts';

export const installation = '111122223333/eu-west-1';

export const markFields: MarkFields = {
  installation,
  execution: 'arn:aws:states:eu-west-1:111122223333:execution:remediate-node:prod-abc-e1-a1',
  episode: 1,
  attempt: 1,
  at: '2026-11-29T11:40:00Z',
};

export const mark: IsolationMark = { ...markFields, cordoned: true, tainted: false };

export const foreignMark: IsolationMark = { ...mark, installation: 'elsewhere/us-east-1' };

export function markAnnotation(value: IsolationMark): Record<string, string> {
  return { 'nodegap.dev/isolation': JSON.stringify(value) };
}

export interface NodeParts {
  name?: string;
  uid?: string;
  unschedulable?: boolean;
  taints?: Taint[];
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  providerID?: string;
  deletionTimestamp?: string;
  creationTimestamp?: string;
  ownerReferences?: OwnerReference[];
}

export function node(parts: NodeParts = {}): Node {
  const { name = 'n1', uid = `uid-${name}`, unschedulable, taints, providerID, ...meta } = parts;
  return {
    metadata: {
      name,
      uid,
      resourceVersion: '7',
      creationTimestamp: '2026-11-29T06:00:00Z',
      ...meta,
    },
    spec: {
      providerID: providerID ?? `aws:///eu-west-1a/i-0123456789abcdef0`,
      ...(unschedulable === undefined ? {} : { unschedulable }),
      ...(taints === undefined ? {} : { taints }),
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

export function claim(parts: Partial<NodeClaim['metadata']> & NodeClaim['status'] = {}): NodeClaim {
  const { providerID, nodeName, conditions, ...meta } = parts;
  return {
    metadata: {
      name: 'general-abc',
      uid: 'uid-claim',
      labels: { 'karpenter.sh/nodepool': 'general' },
      ...meta,
    },
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    status: {
      providerID: providerID ?? 'aws:///eu-west-1a/i-0123456789abcdef0',
      nodeName: nodeName ?? 'n1',
      conditions: conditions ?? [],
    },
  };
}

export function ownedBy(kind: string, name: string, apiVersion = 'apps/v1'): OwnerReference {
  return { apiVersion, kind, name, uid: `uid-${name}`, controller: true };
}

export interface PodParts {
  namespace?: string;
  node?: string;
  owner?: OwnerReference | 'none';
  phase?: string;
  ready?: boolean;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  deletionTimestamp?: string;
  finalizers?: string[];
  creationTimestamp?: string;
  startTime?: string;
  emptyDir?: boolean;
  tolerations?: Toleration[];
  graceSeconds?: number;
  uid?: string;
  /** Names of its volume claims. */
  claims?: string[];
  priority?: number;
}

/** A Running, Ready pod of ReplicaSet `web`, unless said otherwise. */
export function pod(name: string, parts: PodParts = {}): Pod {
  const {
    namespace = 'shop',
    node: nodeName = 'n1',
    phase = 'Running',
    ready = true,
    startTime = '2026-11-29T07:00:00Z',
    emptyDir = false,
    claims = [],
    priority,
    tolerations,
    graceSeconds = 30,
    owner = ownedBy('ReplicaSet', 'web'),
    uid = `uid-${name}`,
    creationTimestamp = '2026-11-29T07:00:00Z',
    ...meta
  } = parts;
  const volumes: Volume[] = [
    ...(emptyDir ? [{ name: 'scratch', emptyDir: {} }] : []),
    ...claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  ];
  return {
    metadata: {
      namespace,
      name,
      uid,
      creationTimestamp,
      ...meta,
      ...(owner === 'none' ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: graceSeconds,
      ...(tolerations === undefined ? {} : { tolerations }),
      ...(priority === undefined ? {} : { priority }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
    status: {
      phase,
      startTime,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

export function daemonSet(name: string, tolerations?: Toleration[]): DaemonSet {
  return {
    metadata: { namespace: 'kube-system', name, uid: `uid-${name}` },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { spec: tolerations === undefined ? {} : { tolerations } },
    },
    status: {},
  };
}

export interface BudgetParts {
  namespace?: string;
  allowed?: number;
  selector?: PodDisruptionBudget['spec']['selector'];
  policy?: string;
  healthy?: number;
  desired?: number;
  generation?: number;
  observed?: number;
}

/** A budget that covers every pod of its namespace, unless said otherwise. */
export function budget(name: string, parts: BudgetParts = {}): PodDisruptionBudget {
  const { namespace = 'shop', allowed = 0, selector, policy, healthy, desired } = parts;
  const { generation = 1, observed = 1 } = parts;
  return {
    metadata: { namespace, name, uid: `uid-${name}`, generation },
    spec: {
      ...('selector' in parts ? { selector: selector ?? null } : { selector: {} }),
      ...(policy === undefined ? {} : { unhealthyPodEvictionPolicy: policy }),
    },
    status: {
      disruptionsAllowed: allowed,
      currentHealthy: healthy ?? 1,
      desiredHealthy: desired ?? 1,
      observedGeneration: observed,
    },
  };
}

/** The claim `name` of namespace `shop`, bound to a volume. */
export function volumeClaim(name: string, volumeName: string): PersistentVolumeClaim {
  return { metadata: { namespace: 'shop', name, uid: `uid-${name}` }, spec: { volumeName } };
}

/** A volume attached to a node. */
export function attachment(volume: string, nodeName = 'n1'): VolumeAttachment {
  return {
    metadata: { name: `csi-${volume}`, uid: `uid-csi-${volume}` },
    spec: { attacher: 'ebs.csi.aws.com', nodeName, source: { persistentVolumeName: volume } },
  };
}
