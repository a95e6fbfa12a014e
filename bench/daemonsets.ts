/** The ten DaemonSets of the bench: what an EKS cluster usually has on every node. */
import type { KubeObject } from '../test/e2e/harness/client.ts';

export interface Image {
  /** Of the container. */
  name: string;
  image: string;
}

export interface CatalogueEntry {
  key: string;
  namespace: string;
  name: string;
  /** Priority class system-node-critical, so required by default. */
  critical: boolean;
  hostNetwork: boolean;
  init: readonly Image[];
  containers: readonly Image[];
  env: readonly string[];
  maxUnavailable: string;
  /** The label `controller-revision-hash` of its pods. */
  revision: string;
}

const registry = '602401143452.dkr.ecr.eu-west-1.amazonaws.com';

/** One entry for each DaemonSet; pods and manifests are made from it. */
export const catalogue: readonly CatalogueEntry[] = [
  entry('kube-system', 'aws-node', '7c8f5d6b9d', {
    init: [{ name: 'aws-vpc-cni-init', image: `${registry}/amazon-k8s-cni-init:v1.20.4` }],
    containers: [{ name: 'aws-node', image: `${registry}/amazon-k8s-cni:v1.20.4` }],
    env: ['AWS_VPC_K8S_CNI_LOGLEVEL', 'ENABLE_PREFIX_DELEGATION', 'WARM_ENI_TARGET'],
  }),
  entry('kube-system', 'kube-proxy', '6bbd5f7c5c', {
    containers: [{ name: 'kube-proxy', image: `${registry}/eks/kube-proxy:v1.36.2-minimal` }],
    env: ['NODE_NAME', 'AWS_REGION'],
  }),
  entry('kube-system', 'ebs-csi-node', '58d9c7f44f', {
    hostNetwork: false,
    containers: [
      { name: 'ebs-plugin', image: `${registry}/eks/aws-ebs-csi-driver:v1.48.0` },
      { name: 'registrar', image: `${registry}/eks/csi-node-driver-registrar:v2.15.0` },
    ],
    env: ['CSI_ENDPOINT', 'CSI_NODE_NAME'],
  }),
  entry('kube-system', 'efs-csi-node', '7d9b6f8c68', {
    containers: [{ name: 'efs-plugin', image: `${registry}/eks/aws-efs-csi-driver:v2.1.9` }],
    env: ['CSI_ENDPOINT', 'CSI_NODE_NAME'],
  }),
  entry('kube-system', 'eks-pod-identity-agent', '5f6b7c9d84', {
    containers: [{ name: 'agent', image: `${registry}/eks/eks-pod-identity-agent:v0.1.33` }],
    env: ['AWS_REGION', 'EKS_CLUSTER_NAME'],
  }),
  entry('kube-system', 'eks-node-monitoring-agent', '84f5c6d7b9', {
    containers: [{ name: 'agent', image: `${registry}/eks/eks-node-monitoring-agent:v1.4.0` }],
    env: ['HOST_ROOT', 'MY_NODE_NAME', 'KUBERNETES_DISTRO'],
  }),
  entry('kube-system', 'node-local-dns', '66c4d9fb7b', {
    containers: [{ name: 'node-cache', image: `${registry}/eks/k8s-dns-node-cache:1.26.4` }],
    env: ['NODE_NAME'],
  }),
  entry('observability', 'fluent-bit', '9f8c7b6d5', {
    critical: false,
    hostNetwork: false,
    containers: [{ name: 'fluent-bit', image: 'example.invalid/aws-for-fluent-bit:2.34.0' }],
    env: ['AWS_REGION', 'CLUSTER_NAME', 'READ_FROM_HEAD', 'HOST_NAME', 'CI_VERSION'],
  }),
  entry('observability', 'node-exporter', '6d5f4c8b97', {
    critical: false,
    containers: [{ name: 'node-exporter', image: 'example.invalid/node-exporter:v1.9.1' }],
    env: ['HOST_IP'],
  }),
  entry('observability', 'otel-agent', '75b9c8d6f4', {
    critical: false,
    hostNetwork: false,
    containers: [{ name: 'otel-agent', image: 'example.invalid/otel-collector:0.136.0' }],
    env: ['GOMEMLIMIT', 'MY_POD_IP', 'K8S_NODE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'],
  }),
];

function entry(
  namespace: string,
  name: string,
  revision: string,
  rest: Partial<CatalogueEntry> & Pick<CatalogueEntry, 'containers' | 'env'>,
): CatalogueEntry {
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    critical: true,
    hostNetwork: true,
    init: [],
    maxUnavailable: '10%',
    revision,
    ...rest,
  };
}

/** The namespaces that have to be there. */
export const namespaces = ['observability', 'shop'];

/** The labels of a DaemonSet's selector. */
export function selectorOf({ name }: CatalogueEntry): Record<string, string> {
  return { 'app.kubernetes.io/name': name };
}

/** The DaemonSet as somebody would apply it. */
export function daemonSetManifest(item: CatalogueEntry): KubeObject {
  const { namespace, name, maxUnavailable } = item;
  const labels = { ...selectorOf(item), 'app.kubernetes.io/managed-by': 'EKS' };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, labels },
    spec: {
      revisionHistoryLimit: 10,
      selector: { matchLabels: selectorOf(item) },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable } },
      template: { metadata: { labels }, spec: podSpecOf(item) },
    },
  };
}

/** The pod template. About as long as that of a plain agent, so that a pod has some 6 KB of JSON. */
export function podSpecOf(item: CatalogueEntry): Record<string, unknown> {
  const { name, hostNetwork, init, containers, env } = item;
  const environment = env.map((variable, index) =>
    variable.includes('NODE_NAME')
      ? {
          name: variable,
          valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'spec.nodeName' } },
        }
      : { name: variable, value: `value-of-${index}` },
  );
  const container = ({ name: containerName, image }: Image) => ({
    name: containerName,
    image,
    imagePullPolicy: 'IfNotPresent',
    resources: { requests: { cpu: '25m', memory: '40Mi' } },
    volumeMounts: [{ mountPath: `/var/run/${name}`, name: 'run-dir' }],
  });
  return {
    ...(item.critical ? { priorityClassName: 'system-node-critical' } : {}),
    serviceAccountName: name,
    hostNetwork,
    terminationGracePeriodSeconds: 10,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: notFargate } },
    tolerations: [{ operator: 'Exists' }],
    ...(init.length === 0 ? {} : { initContainers: init.map(container) }),
    containers: containers.map((each, index) => ({
      ...container(each),
      ...(index === 0 ? { env: environment } : {}),
    })),
    volumes: [
      { name: 'run-dir', hostPath: { path: `/var/run/${name}`, type: 'DirectoryOrCreate' } },
    ],
  };
}

const notFargate = {
  nodeSelectorTerms: [
    {
      matchExpressions: [
        { key: 'eks.amazonaws.com/compute-type', operator: 'NotIn', values: ['fargate', 'hybrid'] },
      ],
    },
  ],
};
