/**
 * Agents that know startup taints of their own: which taint, with which effect, and who takes it
 * off. nodegap leaves these taints to them and puts none of its own beside them.
 */
import type { DaemonSet } from '../kubernetes/objects.ts';

export type AgentId =
  | 'cilium'
  | 'istio-cni'
  | 'ebs-csi'
  | 'efs-csi'
  | 'fsx-csi'
  | 'fsx-openzfs-csi'
  | 's3-csi';

/** Signs of an agent's DaemonSet. Two of the three must hold: forks rename one of them. */
export interface AgentSigns {
  names: readonly string[];
  /** Any of these labels, of the DaemonSet or of its pods. */
  labels: readonly (readonly [key: string, value: string])[];
  /** The last part of an image's repository: mirrors keep it. */
  images: readonly string[];
}

export interface KnownAgent {
  id: AgentId;
  title: string;
  taintKey: string;
  /** The effect that its makers recommend, or that does no harm where they recommend none. */
  effect: 'NoSchedule' | 'NoExecute';
  effectReason: string;
  signs: AgentSigns;
  /** Who takes the taint off, and what must be so that it does. */
  remover: AgentRemover;
  /** Where the facts above are documented. */
  sources: readonly string[];
}

export type AgentRemover =
  /** Each pod of the DaemonSet takes it off its own node. */
  | { by: 'agent'; what: string; since?: string; offVariable?: string; turnOn: string }
  /** A Deployment that watches the agent's pods. */
  | { by: 'cilium-operator' | 'istiod'; what: string; turnOn: string };

const csiReason =
  'its makers recommend NoExecute, which also keeps out pods that were bound to the node by name or before the taint came';

interface CsiDriver {
  id: AgentId;
  title: string;
  taintPrefix: string;
  node: string;
  image: string;
  since?: string;
  offVariable?: string;
  helmOff?: string;
  sources: readonly string[];
}

/** The CSI drivers of AWS are alike: the node pod takes the taint off its own node when it is up. */
function csiDriver(driver: CsiDriver): KnownAgent {
  const { id, title, taintPrefix, node, image, since, offVariable, helmOff, sources } = driver;
  const version = since === undefined ? '' : `use ${since} or newer; `;
  const switches = helmOff === undefined ? '' : `, and ${helmOff}`;
  return {
    id,
    title,
    taintKey: `${taintPrefix}/agent-not-ready`,
    effect: 'NoExecute',
    effectReason: csiReason,
    signs: {
      names: [node, `${node}-windows`],
      labels: [
        ['app', node],
        ['app.kubernetes.io/name', image],
        ['app.kubernetes.io/part-of', image],
      ],
      images: [image],
    },
    remover: {
      by: 'agent',
      what: `the pod of ${node} on that node`,
      ...(since === undefined ? {} : { since }),
      ...(offVariable === undefined ? {} : { offVariable }),
      turnOn: `${version}it is on by default: keep the node pods' right to patch nodes${switches}`,
    },
    sources,
  };
}

export const knownAgents: readonly KnownAgent[] = [
  {
    id: 'cilium',
    title: 'Cilium',
    taintKey: 'node.cilium.io/agent-not-ready',
    effect: 'NoExecute',
    effectReason:
      'its makers recommend NoExecute: with NoSchedule, pods that are bound already start beside another CNI when a node comes back under its name',
    signs: {
      names: ['cilium'],
      labels: [
        ['k8s-app', 'cilium'],
        ['app.kubernetes.io/name', 'cilium-agent'],
      ],
      images: ['cilium'],
    },
    remover: {
      by: 'cilium-operator',
      what: 'cilium-operator, when a pod of Cilium is Ready on the node',
      turnOn:
        'set operator.removeNodeTaints=true in the values of the Cilium chart (its default), which is remove-cilium-node-taints: "true" in ConfigMap cilium-config',
    },
    sources: [
      'https://docs.cilium.io/en/stable/installation/taints/',
      'https://docs.cilium.io/en/stable/helm-reference/',
      'https://docs.cilium.io/en/stable/cmdref/cilium-operator/',
    ],
  },
  {
    id: 'istio-cni',
    title: 'Istio CNI',
    taintKey: 'cni.istio.io/not-ready',
    effect: 'NoSchedule',
    effectReason:
      'istiod takes it off whatever its effect; NoSchedule is enough, because a pod that the scheduler binds afterwards meets a ready plugin',
    signs: {
      names: ['istio-cni-node'],
      labels: [['k8s-app', 'istio-cni-node']],
      images: ['install-cni'],
    },
    remover: {
      by: 'istiod',
      what: 'istiod, when a pod with k8s-app=istio-cni-node is Ready on the node',
      turnOn:
        'set taint.enabled=true (pilot.taint.enabled=true for istioctl and older charts) and taint.namespace to the namespace of istio-cni in the values of istiod; before Istio 1.30 also env PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS=true, which is off by default',
    },
    sources: [
      'https://istio.io/latest/news/releases/1.30.x/announcing-1.30/change-notes/',
      'https://istio.io/latest/news/releases/1.30.x/announcing-1.30.3/',
      'https://istio.io/latest/docs/reference/commands/pilot-discovery/',
      'https://github.com/istio/istio/tree/master/pilot/pkg/controllers/untaint',
    ],
  },
  csiDriver({
    id: 'ebs-csi',
    title: 'EBS CSI driver',
    taintPrefix: 'ebs.csi.aws.com',
    node: 'ebs-csi-node',
    image: 'aws-ebs-csi-driver',
    since: '1.19.0',
    offVariable: 'DISABLE_TAINT_WATCHER',
    helmOff: 'node.serviceAccount.disableMutation of its chart at false',
    sources: [
      'https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md#configure-node-startup-taint',
      'https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/CHANGELOG.md',
      'https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html',
    ],
  }),
  csiDriver({
    id: 'efs-csi',
    title: 'EFS CSI driver',
    taintPrefix: 'efs.csi.aws.com',
    node: 'efs-csi-node',
    image: 'aws-efs-csi-driver',
    offVariable: 'DISABLE_TAINT_WATCHER',
    sources: [
      'https://github.com/kubernetes-sigs/aws-efs-csi-driver/blob/master/docs/install.md#configure-node-startup-taint',
      'https://github.com/kubernetes-sigs/aws-efs-csi-driver/blob/master/CHANGELOG-2.x.md',
    ],
  }),
  csiDriver({
    id: 'fsx-csi',
    title: 'FSx for Lustre CSI driver',
    taintPrefix: 'fsx.csi.aws.com',
    node: 'fsx-csi-node',
    image: 'aws-fsx-csi-driver',
    sources: [
      'https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/master/docs/install.md#configure-node-startup-taint',
    ],
  }),
  csiDriver({
    id: 'fsx-openzfs-csi',
    title: 'FSx for OpenZFS CSI driver',
    taintPrefix: 'fsx.openzfs.csi.aws.com',
    node: 'fsx-openzfs-csi-node',
    image: 'aws-fsx-openzfs-csi-driver',
    since: '1.0.0',
    sources: [
      'https://github.com/kubernetes-sigs/aws-fsx-openzfs-csi-driver/blob/main/docs/install.md#configure-node-startup-taint',
      'https://github.com/kubernetes-sigs/aws-fsx-openzfs-csi-driver/blob/main/CHANGELOG.md',
    ],
  }),
  csiDriver({
    id: 's3-csi',
    title: 'Mountpoint for Amazon S3 CSI driver',
    taintPrefix: 's3.csi.aws.com',
    node: 's3-csi-node',
    image: 'aws-mountpoint-s3-csi-driver',
    since: '2.1.0',
    sources: [
      'https://github.com/awslabs/mountpoint-s3-csi-driver/blob/main/docs/CONFIGURATION.md#configure-node-startup-taint',
      'https://github.com/awslabs/mountpoint-s3-csi-driver/blob/main/CHANGELOG.md',
    ],
  }),
];

/** The agent that a DaemonSet runs, if it shows two of the three signs. */
export function agentOf(daemonSet: DaemonSet): KnownAgent | undefined {
  return knownAgents.find(({ signs }) => signsShown(signs, daemonSet) >= 2);
}

/** The agent that the key of a taint belongs to, as its makers name it. */
export function agentOfTaint({ key }: { key: string }): KnownAgent | undefined {
  return knownAgents.find(({ taintKey }) => taintKey === key);
}

function signsShown(signs: AgentSigns, { metadata, spec }: DaemonSet): number {
  const { template } = spec;
  const labels = [metadata.labels ?? {}, template.metadata?.labels ?? {}];
  const images = (template.spec.containers ?? []).flatMap(({ image }) =>
    image === undefined ? [] : [parseImage(image).name],
  );
  return [
    signs.names.includes(metadata.name),
    signs.labels.some(([key, value]) => labels.some((each) => each[key] === value)),
    images.some((image) => signs.images.includes(image)),
  ].filter(Boolean).length;
}

/** The last part of an image's repository, and its tag: `registry:5000/a/b:v1@sha256:…` is b, v1. */
export function parseImage(image: string): { name: string; tag?: string } {
  const [reference = ''] = image.split('@');
  const last = reference.slice(reference.lastIndexOf('/') + 1);
  const [name = '', tag] = last.split(':');
  return tag === undefined ? { name } : { name, tag };
}

const variables = new Set([
  'DISABLE_TAINT_WATCHER',
  'PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS',
  'PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME',
]);

const settings = new Set(['remove-cilium-node-taints', 'agent-not-ready-taint-key']);

/** Environment variables that tell whether an agent's taint is taken off. */
export function isAgentVariable(name: string): boolean {
  return variables.has(name);
}

/** Keys of ConfigMaps that tell whether an agent's taint is taken off. */
export function isAgentSetting(key: string): boolean {
  return settings.has(key);
}
