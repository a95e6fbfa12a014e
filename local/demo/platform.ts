/** What every cluster of the demo runs on its nodes, under the names that EKS gives it. */
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { SimulatedCluster } from '../cluster/simulated-cluster.ts';

const registry = '602401143452.dkr.ecr.eu-west-1.amazonaws.com';
export const kubeProxyImage = `${registry}/eks/kube-proxy:v1.34.1-eksbuild.2`;

const everything = [{ operator: 'Exists' as const }];
const nodeCritical = { tolerations: everything, priorityClassName: 'system-node-critical' };

/** The DaemonSets that demoConfig requires, `namespace/name`. */
export const requiredDaemonSets: readonly string[] = [
  'kube-system/aws-node',
  'kube-system/ebs-csi-node',
  'kube-system/kube-proxy',
  'logging/fluent-bit',
];

/** nodegap.yaml of the demo: all timings and limits are the defaults of the product. */
export const demoConfig = `
clusters:
  - { name: shop, region: eu-west-1, mode: act }
  - { name: analytics, region: eu-west-1, mode: act }
  - { name: media, region: eu-west-1, mode: act }
requiredDaemonSets:
  - { name: logging/fluent-bit, action: isolate }
  - { priorityClass: system-node-critical, action: replace }
`;

/** Puts the node-local infrastructure into a cluster. */
export function addPlatform(cluster: SimulatedCluster): void {
  cluster.addDaemonSet({
    name: 'aws-node',
    image: `${registry}/amazon-k8s-cni:v1.20.4`,
    cpu: 0.05,
    hostNetwork: true,
    ...nodeCritical,
  });
  cluster.addDaemonSet({
    name: 'kube-proxy',
    image: kubeProxyImage,
    cpu: 0.1,
    hostNetwork: true,
    maxUnavailable: '100%',
    ...nodeCritical,
  });
  cluster.addDaemonSet({
    name: 'ebs-csi-node',
    image: `${registry}/eks/aws-ebs-csi-driver:v1.52.0`,
    cpu: 0.03,
    ...nodeCritical,
  });
  cluster.addDaemonSet({
    namespace: 'logging',
    name: 'fluent-bit',
    image: 'public.ecr.aws/aws-observability/aws-for-fluent-bit:3.0.0',
    cpu: 0.05,
  });
  cluster.addDaemonSet({
    namespace: 'monitoring',
    name: 'node-exporter',
    image: 'quay.io/prometheus/node-exporter:v1.10.2',
    cpu: 0.02,
    tolerations: everything,
  });
}

/** The node of a pool by its age, the oldest being 0. */
export function nodeAt(cluster: SimulatedCluster, pool: string, index: number): Node {
  const nodes = cluster.nodesOf(pool);
  const node = nodes[index];
  if (node === undefined) throw new Error(`pool ${pool} has only ${nodes.length} nodes`);
  return node;
}
