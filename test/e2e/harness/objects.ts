import { createHash } from 'node:crypto';
import type { Taint, Toleration } from '../../../lib/kubernetes/objects.ts';
import { ApiError, type KubeClient, type KubeObject, pathOf } from './client.ts';

// No image is ever pulled: the fake kubelet only repeats its name.
const IMAGE = 'example.invalid/agent:1';

export interface NodeOptions {
  name: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  taints?: Taint[];
  /** An EC2 one made from the name if not given; `null` for none. */
  providerID?: string | null;
  zone?: string;
  capacity?: Record<string, string>;
}

/** A node of which kwok is the kubelet. */
export function nodeManifest(options: NodeOptions): KubeObject {
  const { name, zone = 'eu-west-1a', labels, annotations, taints } = options;
  const capacity = { cpu: '4', memory: '16Gi', pods: '110', ...options.capacity };
  const providerID = options.providerID === undefined ? ec2Id(name, zone) : options.providerID;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': zone,
        'topology.kubernetes.io/region': zone.slice(0, -1),
        ...labels,
      },
      annotations: { 'kwok.x-k8s.io/node': 'fake', ...annotations },
    },
    spec: { ...(providerID === null ? {} : { providerID }), ...(taints ? { taints } : {}) },
    status: { capacity, allocatable: capacity },
  };
}

function ec2Id(name: string, zone: string): string {
  return `aws:///${zone}/i-${createHash('sha256').update(name).digest('hex').slice(0, 17)}`;
}

export interface PodTemplateOptions {
  image?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  requests?: Record<string, string>;
  hostPort?: number;
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
  priorityClassName?: string;
  terminationGracePeriodSeconds?: number;
  /** Also an init container `prepare`, and also a sidecar `proxy`. */
  initContainer?: boolean;
  sidecar?: boolean;
  /** The condition that somebody else must set before a pod is Ready. The fake kubelet does. */
  readinessGate?: string;
}

export interface DaemonSetOptions extends PodTemplateOptions {
  name: string;
  /** `kube-system` if not given. */
  namespace?: string;
  updateStrategy?: Record<string, unknown>;
  minReadySeconds?: number;
}

/** Node-critical, and on every node whatever its taints, if not said otherwise. */
export function daemonSetManifest(options: DaemonSetOptions): KubeObject {
  const { name, namespace = 'kube-system', updateStrategy, minReadySeconds } = options;
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      selector: { matchLabels: { app: name } },
      ...(updateStrategy === undefined ? {} : { updateStrategy }),
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      template: podTemplate(name, {
        priorityClassName: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
        ...options,
      }),
    },
  };
}

export interface DeploymentOptions extends PodTemplateOptions {
  name: string;
  /** `default` if not given. */
  namespace?: string;
  replicas?: number;
  /** At most one more pod on one node than on another. */
  spread?: boolean;
  /** Never two pods on one node, so that each replica has a node of its own. */
  apart?: boolean;
}

/** A workload. Its pods become Ready as soon as they are on a node. */
export function deploymentManifest(options: DeploymentOptions): KubeObject {
  const { name, namespace = 'default', replicas = 1, spread = false, apart = false } = options;
  const template = podTemplate(name, options);
  const constraint = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: name } },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        ...template,
        spec: {
          ...template.spec,
          ...(spread ? { topologySpreadConstraints: [constraint] } : {}),
          ...(apart ? { affinity: { podAntiAffinity: apartFrom(name) } } : {}),
        },
      },
    },
  };
}

function apartFrom(app: string) {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } },
    ],
  };
}

function podTemplate(app: string, options: PodTemplateOptions) {
  const { annotations, nodeSelector, tolerations, priorityClassName, hostPort } = options;
  const initContainers = [
    ...(options.initContainer ? [{ name: 'prepare', image: IMAGE }] : []),
    ...(options.sidecar ? [{ name: 'proxy', image: IMAGE, restartPolicy: 'Always' }] : []),
  ];
  return {
    metadata: {
      labels: { ...options.labels, app },
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      terminationGracePeriodSeconds: options.terminationGracePeriodSeconds ?? 30,
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      ...(tolerations === undefined ? {} : { tolerations }),
      ...(options.readinessGate === undefined
        ? {}
        : { readinessGates: [{ conditionType: options.readinessGate }] }),
      ...(initContainers.length === 0 ? {} : { initContainers }),
      containers: [
        {
          name: 'main',
          image: options.image ?? IMAGE,
          resources: { requests: options.requests ?? { cpu: '50m', memory: '64Mi' } },
          ...(hostPort === undefined ? {} : { ports: [{ containerPort: hostPort, hostPort }] }),
        },
      ],
    },
  };
}

export interface PdbOptions {
  name: string;
  /** `default` if not given. */
  namespace?: string;
  /** The workloads whose pods it protects: their `app` labels. */
  app: string | string[];
  minAvailable?: number | string;
  maxUnavailable?: number | string;
}

export function pdbManifest(options: PdbOptions): KubeObject {
  const { name, namespace = 'default', app, minAvailable, maxUnavailable } = options;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: {
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: [app].flat() }] },
      ...(minAvailable === undefined ? {} : { minAvailable }),
      ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
    },
  };
}

export interface NodePoolOptions {
  name: string;
  labels?: Record<string, string>;
  taints?: Taint[];
  startupTaints?: Taint[];
  /** E.g. `30s`; none if not given, so a drain waits for ever. */
  terminationGracePeriod?: string;
  /** How long a new node takes to appear, e.g. `5s`; at once if not given. */
  registrationDelay?: string;
  /** One of kwok's, e.g. `test-zone-a`; any of them if not given. */
  zone?: string;
}

/** A NodePool and its KWOKNodeClass. Karpenter disrupts none of its nodes by itself. */
export function nodePoolManifests(options: NodePoolOptions): KubeObject[] {
  const { name, labels, taints, startupTaints, terminationGracePeriod, zone } = options;
  const nodeClass = {
    apiVersion: 'karpenter.kwok.sh/v1alpha1',
    kind: 'KWOKNodeClass',
    metadata: { name },
    spec: { nodeRegistrationDelay: options.registrationDelay ?? '0s' },
  };
  const only = (key: string, value: string) => ({ key, operator: 'In', values: [value] });
  const nodePool = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' },
      template: {
        metadata: { labels: { ...labels } },
        spec: {
          nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name },
          expireAfter: 'Never',
          requirements: [
            only('kubernetes.io/arch', 'amd64'),
            only('kubernetes.io/os', 'linux'),
            only('karpenter.sh/capacity-type', 'on-demand'),
            ...(zone === undefined ? [] : [only('topology.kubernetes.io/zone', zone)]),
          ],
          ...(taints === undefined ? {} : { taints }),
          ...(startupTaints === undefined ? {} : { startupTaints }),
          ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
        },
      },
    },
  };
  return [nodeClass, nodePool];
}

/** Creates a fake node, or changes the labels, annotations and spec of the one there is. */
export async function applyNode(client: KubeClient, options: NodeOptions): Promise<void> {
  const manifest = nodeManifest(options);
  try {
    // Not by apply: that would drop the capacity, which is status.
    await client.create('/api/v1/nodes', manifest);
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) throw error;
    const { metadata, spec } = manifest;
    await client.patch(pathOf(manifest), { metadata, spec });
  }
}

export async function applyDaemonSet(client: KubeClient, options: DaemonSetOptions): Promise<void> {
  await client.apply(daemonSetManifest(options));
}

export async function applyDeployment(
  client: KubeClient,
  options: DeploymentOptions,
): Promise<void> {
  await client.apply(deploymentManifest(options));
}

export async function applyPdb(client: KubeClient, options: PdbOptions): Promise<void> {
  await client.apply(pdbManifest(options));
}

export async function applyNodePool(client: KubeClient, options: NodePoolOptions): Promise<void> {
  for (const manifest of nodePoolManifests(options)) await client.apply(manifest);
}
