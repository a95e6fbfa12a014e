/**
 * Writes examples/dump.json: what `kubectl get nodes,ds,pods,events,pdb,nodeclaims -A -o json` would
 * print on a simulated cluster with a few things wrong.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiVersionOf, infoOf, type Resource } from '../local/cluster/resources.ts';
import { SimulatedCluster } from '../local/cluster/simulated-cluster.ts';

const noon = Date.parse('2026-11-24T12:00:00Z');
const minute = 60_000;
const registry = '602401143452.dkr.ecr.us-east-1.amazonaws.com';
const dumped: Resource[] = [
  'nodes',
  'daemonsets',
  'pods',
  'events',
  'poddisruptionbudgets',
  'nodeclaims',
];

const zones = ['us-east-1a', 'us-east-1b'];

let now = noon - 40 * minute;
const cluster = new SimulatedCluster({ clock: { now: () => now }, name: 'shop', seed: 21 });
const pass = (minutes: number): void => {
  now += minutes * minute;
  cluster.advanceTo(now);
};
const nodeOf = (pool: string, index: number): string => {
  const node = cluster.nodesOf(pool)[index];
  if (node === undefined) throw new Error(`pool ${pool} has no node ${index}`);
  return node.metadata.name;
};

const system = {
  tolerations: [{ operator: 'Exists' }],
  priorityClassName: 'system-node-critical',
};
cluster.addPool('general', { nodes: 12, zones });
cluster.addPool('compute', { nodes: 8, zones });
cluster.addPool('training', {
  nodes: 4,
  zones,
  managedBy: 'node-group',
  labels: { workload: 'training' },
});
cluster.addDaemonSet({
  name: 'aws-node',
  image: `${registry}/amazon-k8s-cni:v1.20.4`,
  hostNetwork: true,
  cpu: 0.05,
  ...system,
});
cluster.addDaemonSet({
  name: 'kube-proxy',
  image: `${registry}/eks/kube-proxy:v1.34.1-eksbuild.2`,
  hostNetwork: true,
  cpu: 0.1,
  ...system,
});
cluster.addDeployment({
  namespace: 'shop',
  name: 'checkout',
  replicas: 8,
  cpu: 1.2,
  nodeSelector: { 'karpenter.sh/nodepool': 'compute' },
  pdb: { maxUnavailable: 1 },
});
cluster.addDeployment({
  namespace: 'shop',
  name: 'web',
  replicas: 6,
  cpu: 0.8,
  pdb: { minAvailable: '80%' },
});
cluster.addPod({ namespace: 'batch', name: 'report-7', node: nodeOf('general', 9), cpu: 3.7 });
cluster.settle();

// The CSI driver came later, and found one node full.
cluster.addDaemonSet({
  name: 'ebs-csi-node',
  image: `${registry}/eks/aws-ebs-csi-driver:v1.52.0`,
  cpu: 0.2,
  ...system,
});
cluster.addDaemonSet({
  name: 's3-csi-node',
  image: 'public.ecr.aws/mountpoint-s3-csi-driver/aws-mountpoint-s3-csi-driver:v2.1.0',
  nodeSelector: { workload: 'training' },
  ...system,
});
pass(5);
cluster.setFault(
  { node: nodeOf('compute', 3), daemonSet: 'kube-system/aws-node' },
  { kind: 'crash-loop' },
);
cluster.setFault(
  { node: nodeOf('general', 4), daemonSet: 'kube-system/ebs-csi-node' },
  { kind: 'sandbox' },
);
cluster.setFault(
  { node: nodeOf('training', 0), daemonSet: 'kube-system/s3-csi-node' },
  { kind: 'config-error' },
);
pass(6);
// A node that joins since shows that the CNI starts well elsewhere.
cluster.addDeployment({
  namespace: 'batch',
  name: 'nightly',
  replicas: 1,
  cpu: 3.5,
  nodeSelector: { 'karpenter.sh/nodepool': 'compute' },
});
pass(29);

const items = dumped.flatMap((resource) => {
  const info = infoOf(resource);
  return cluster
    .list(resource)
    .map((object) => ({ apiVersion: apiVersionOf(info), kind: info.kind, ...object }));
});
// One object a line keeps the file small, and changes to it readable.
const lines = items.map((item) => JSON.stringify(item)).join(',\n');
const file = join(import.meta.dirname, '..', 'examples', 'dump.json');
writeFileSync(file, `{"apiVersion":"v1","kind":"List","metadata":{},"items":[\n${lines}\n]}\n`);
