/** The nodes of the bench: the labels, conditions and images that EKS and Karpenter nodes have. */
import type { Condition } from '../lib/kubernetes/objects.ts';
import type { KubeObject } from '../test/e2e/harness/client.ts';
import { addressOf, digits, nodeName, type Plan } from './plan.ts';

const region = 'eu-west-1';
const zones = ['a', 'b', 'c'].map((letter) => `${region}${letter}`);
const pools = [
  { name: 'general', karpenter: true, type: 'm7i.2xlarge', cpu: 8, gib: 32 },
  { name: 'compute', karpenter: true, type: 'c7i.4xlarge', cpu: 16, gib: 32 },
  { name: 'memory', karpenter: true, type: 'r7i.2xlarge', cpu: 8, gib: 64 },
  { name: 'gpu', karpenter: true, type: 'g6.2xlarge', cpu: 8, gib: 32 },
  { name: 'system', karpenter: false, type: 'm7i.xlarge', cpu: 4, gib: 16 },
];

/** The node as its kubelet registers it, ready for a create. */
export function nodeManifest(plan: Plan, node: number): KubeObject {
  const { pool, zone, instance } = placeOf(node);
  const [family = '', size = ''] = pool.type.split('.');
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName(node),
      labels: {
        'beta.kubernetes.io/arch': 'amd64',
        'beta.kubernetes.io/instance-type': pool.type,
        'beta.kubernetes.io/os': 'linux',
        'failure-domain.beta.kubernetes.io/region': region,
        'failure-domain.beta.kubernetes.io/zone': zone,
        'k8s.io/cloud-provider-aws': digits('cluster', 32),
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': nodeName(node),
        'kubernetes.io/os': 'linux',
        'node.kubernetes.io/instance-type': pool.type,
        'topology.k8s.aws/zone-id': `euw1-az${zones.indexOf(zone) + 1}`,
        'topology.ebs.csi.aws.com/zone': zone,
        'topology.kubernetes.io/region': region,
        'topology.kubernetes.io/zone': zone,
        ...(pool.karpenter
          ? {
              'karpenter.k8s.aws/instance-category': family.slice(0, 1),
              'karpenter.k8s.aws/instance-cpu': String(pool.cpu),
              'karpenter.k8s.aws/instance-family': family,
              'karpenter.k8s.aws/instance-generation': family.replace(/\D/g, ''),
              'karpenter.k8s.aws/instance-memory': String(pool.gib * 1024),
              'karpenter.k8s.aws/instance-size': size,
              'karpenter.sh/capacity-type': node % 3 === 0 ? 'spot' : 'on-demand',
              'karpenter.sh/initialized': 'true',
              'karpenter.sh/nodepool': pool.name,
              'karpenter.sh/registered': 'true',
            }
          : {
              'eks.amazonaws.com/capacityType': 'ON_DEMAND',
              'eks.amazonaws.com/nodegroup': pool.name,
              'eks.amazonaws.com/nodegroup-image': `ami-${digits('image', 17)}`,
            }),
      },
      annotations: {
        'alpha.kubernetes.io/provided-node-ip': addressOf(node).join('.'),
        'csi.volume.kubernetes.io/nodeid': JSON.stringify({
          'ebs.csi.aws.com': instance,
          'efs.csi.aws.com': instance,
        }),
        'node.alpha.kubernetes.io/ttl': '0',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
    },
    spec: { providerID: `aws:///${zone}/${instance}`, ...taintsOf(plan, node, pool.name) },
  };
}

/** The status that the kubelet of the node reports at `now` (epoch ms). */
export function nodeStatus(plan: Plan, node: number, now: number): Record<string, unknown> {
  const { pool } = placeOf(node);
  const quantities = (cpu: string, memory: number) => ({
    cpu,
    'ephemeral-storage': '83873772Ki',
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
    memory: `${memory}Ki`,
    pods: '110',
  });
  return {
    addresses: [
      { type: 'InternalIP', address: addressOf(node).join('.') },
      { type: 'InternalDNS', address: nodeName(node) },
      { type: 'Hostname', address: nodeName(node) },
    ],
    allocatable: quantities(`${pool.cpu * 1000 - 90}m`, pool.gib * 1_000_000),
    capacity: quantities(String(pool.cpu), pool.gib * 1_030_000),
    conditions: [
      ...['Memory', 'Disk', 'PID'].map((what) => condition(`${what}Pressure`, 'False', now)),
      readyCondition(plan, node, now),
      ...['KernelReady', 'NetworkingReady', 'StorageReady'].map((type) =>
        condition(type, 'True', now),
      ),
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    images: imagesOf(node),
    nodeInfo: {
      architecture: 'amd64',
      bootID: uuidOf(`boot ${node}`),
      containerRuntimeVersion: 'containerd://2.1.4',
      kernelVersion: '6.12.40-64.114.amzn2023.x86_64',
      kubeProxyVersion: '',
      kubeletVersion: 'v1.36.2-eks-113cf36',
      machineID: digits(`machine ${node}`, 32),
      operatingSystem: 'linux',
      osImage: 'Amazon Linux 2023.9.20250929',
      systemUUID: uuidOf(`system ${node}`),
    },
  };
}

/** The condition Ready of the node, with a heartbeat of `now` unless the kubelet is silent. */
export function readyCondition(plan: Plan, node: number, now: number): Condition {
  if (!plan.notReady.has(node)) {
    return {
      ...condition('Ready', 'True', now),
      reason: 'KubeletReady',
      message: 'kubelet is posting ready status',
    };
  }
  return node % 2 === 0
    ? {
        ...condition('Ready', 'Unknown', now),
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
      }
    : {
        ...condition('Ready', 'False', now),
        reason: 'KubeletNotReady',
        message: 'container runtime network not ready: NetworkReady=false',
      };
}

/** A UUID that depends on nothing but `text`. */
export function uuidOf(text: string): string {
  const hex = digits(text, 32);
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([start, end]) => hex.slice(start, end))
    .join('-');
}

/** `time` (epoch ms) as Kubernetes writes it. */
export function timestamp(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
}

function condition(type: string, status: string, now: number): Condition {
  return {
    type,
    status,
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: timestamp(now),
    reason: `Kubelet${type}${status}`,
    message: `kubelet reports ${type} as ${status}`,
  };
}

function placeOf(node: number) {
  const pool = pools[node % pools.length];
  const zone = zones[Math.floor(node / pools.length) % zones.length];
  if (pool === undefined || zone === undefined) throw new Error(`node ${node} has no place`);
  return { pool, zone, instance: `i-${digits(`instance ${node}`, 17)}` };
}

/** Those of the node lifecycle controller, and that of the pool. */
function taintsOf(plan: Plan, node: number, pool: string) {
  const key = node % 2 === 0 ? 'node.kubernetes.io/unreachable' : 'node.kubernetes.io/not-ready';
  const taints = [
    ...(pool === 'gpu' ? [{ key: 'nvidia.com/gpu', value: 'true', effect: 'NoSchedule' }] : []),
    ...(plan.notReady.has(node)
      ? ['NoSchedule', 'NoExecute'].map((effect) => ({ key, effect }))
      : []),
  ];
  return taints.length === 0 ? {} : { taints };
}

/** 2 to 50 images, the largest first; the kubelet reports 50 at most. */
function imagesOf(node: number) {
  return Array.from({ length: 2 + (node % 49) }, (_, index) => ({
    names: [
      `example.invalid/team-${index % 7}/service-${index}@sha256:${digits(`digest ${index}`, 64)}`,
      `example.invalid/team-${index % 7}/service-${index}:v1.${index}.${node % 5}`,
    ],
    sizeBytes: 1_200_000_000 - index * 19_000_000,
  }));
}
