/** The pods of the bench, as controllers create them and kubelets report on them. */
import type { KubeObject } from '../test/e2e/harness/client.ts';
import { type CatalogueEntry, type Image, podSpecOf, selectorOf } from './daemonsets.ts';
import { timestamp, uuidOf } from './nodes.ts';
import { addressOf, digits, nodeName, type PodFault } from './plan.ts';

/** A pod, and the status that it gets in a second step. */
export interface PodToMake {
  manifest: KubeObject;
  status: Record<string, unknown>;
}

/** The pod of a DaemonSet (whose uid is `owner`) on a node, at `now` (epoch ms). */
export function daemonSetPod(
  item: CatalogueEntry,
  owner: string,
  node: number,
  state: { fault: PodFault | undefined; nodeReady: boolean },
  now: number,
): PodToMake {
  const { namespace, revision, init, containers, hostNetwork } = item;
  const name = `${item.name}-${suffixOf(node)}`;
  const spec = podSpecOf(item);
  return {
    manifest: podManifest(namespace, name, {
      owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: item.name, uid: owner },
      generateName: `${item.name}-`,
      labels: {
        ...selectorOf(item),
        'app.kubernetes.io/managed-by': 'EKS',
        'controller-revision-hash': revision,
        'pod-template-generation': '1',
      },
      spec: {
        ...spec,
        nodeName: nodeName(node),
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: only(node) } },
        tolerations: [...daemonTolerations, { operator: 'Exists' }],
        ...withToken(spec),
      },
    }),
    status: podStatus(name, node, { init, containers, hostNetwork, ...state }, now),
  };
}

/** The pod number `index` of a Deployment, on a node: the workload around which all turns. */
export function workloadPod(index: number, node: number, now: number): PodToMake {
  const app = `service-${index % 40}`;
  const hash = `${digits(app, 9)}`;
  const name = `${app}-${hash}-${suffixOf(index)}`;
  const containers = [{ name: 'main', image: `example.invalid/shop/${app}:2026.11.3` }];
  const environment = [
    'DATABASE_HOST',
    'QUEUE_URL',
    'LOG_LEVEL',
    'REGION',
    'CACHE_HOST',
    'TIMEOUT',
  ].map((variable) => ({ name: variable, value: `${variable.toLowerCase()}.${app}.internal` }));
  const spec = {
    serviceAccountName: app,
    nodeName: nodeName(node),
    terminationGracePeriodSeconds: 30,
    containers: containers.map(({ name: containerName, image }) => ({
      name: containerName,
      image,
      env: environment,
      ports: [{ name: 'http', containerPort: 8080 }],
      resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { memory: '1Gi' } },
      readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 10 },
      volumeMounts: [{ name: 'config', mountPath: '/etc/app' }],
    })),
    volumes: [{ name: 'config', configMap: { name: `${app}-config` } }],
  };
  return {
    manifest: podManifest('shop', name, {
      owner: {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: `${app}-${hash}`,
        uid: uuidOf(app),
      },
      generateName: `${app}-${hash}-`,
      labels: { app, 'pod-template-hash': hash, team: `team-${index % 7}`, version: 'v3' },
      spec: { ...spec, ...withToken(spec) },
    }),
    status: podStatus(
      name,
      node,
      { init: [], containers, hostNetwork: false, fault: undefined, nodeReady: true },
      now,
    ),
  };
}

interface PodParts {
  owner: { apiVersion: string; kind: string; name: string; uid: string };
  generateName: string;
  labels: Record<string, string>;
  spec: Record<string, unknown>;
}

function podManifest(namespace: string, name: string, parts: PodParts): KubeObject {
  const { owner, generateName, labels, spec } = parts;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      generateName,
      labels,
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec,
  };
}

interface PodState {
  init: readonly Image[];
  containers: readonly Image[];
  hostNetwork: boolean;
  fault: PodFault | undefined;
  nodeReady: boolean;
}

function podStatus(name: string, node: number, state: PodState, now: number) {
  const { fault, hostNetwork, nodeReady, init, containers } = state;
  const time = timestamp(now);
  const started = fault !== 'creating';
  const ready = fault === undefined && nodeReady;
  const condition = (type: string, holds: boolean, reason?: string) => ({
    type,
    status: holds ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: time,
    ...(holds || reason === undefined ? {} : { reason, message: `${type} is not given` }),
  });
  const unready = nodeReady ? 'ContainersNotReady' : 'NodeNotReady';
  const hostIP = addressOf(node).join('.');
  const podIP = hostNetwork ? hostIP : podAddress(node, name);
  return {
    phase: fault === 'creating' || fault === 'image-pull' ? 'Pending' : 'Running',
    conditions: [
      condition('PodReadyToStartContainers', started),
      condition('Initialized', started || init.length === 0, 'ContainersNotInitialized'),
      condition('Ready', ready, unready),
      condition('ContainersReady', fault === undefined, unready),
      condition('PodScheduled', true),
    ],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(started ? { podIP, podIPs: [{ ip: podIP }] } : {}),
    qosClass: 'Burstable',
    startTime: time,
    ...(init.length === 0
      ? {}
      : {
          initContainerStatuses: init.map((image) =>
            started ? doneStatus(name, image, time) : waitingStatus(image, 'PodInitializing'),
          ),
        }),
    containerStatuses: containers.map((image, index) =>
      containerStatus(name, image, index === 0 ? fault : started ? undefined : 'creating', time),
    ),
  };
}

function containerStatus(pod: string, image: Image, fault: PodFault | undefined, time: string) {
  const running = { ...imageStatus(pod, image), restartCount: 0, lastState: {} };
  const state = { running: { startedAt: time } };
  switch (fault) {
    case undefined:
      return { ...running, ready: true, started: true, state };
    case 'not-ready':
      return { ...running, ready: false, started: true, state };
    case 'crash-loop':
      return {
        ...running,
        ready: false,
        started: false,
        restartCount: 7,
        state: {
          waiting: {
            reason: 'CrashLoopBackOff',
            message: `back-off 5m0s restarting failed container=${image.name} pod=${pod}`,
          },
        },
        lastState: {
          terminated: {
            exitCode: 1,
            reason: 'Error',
            startedAt: time,
            finishedAt: time,
            containerID: running.containerID,
          },
        },
      };
    case 'image-pull':
      return waitingStatus(image, 'ImagePullBackOff', `Back-off pulling image "${image.image}"`);
    default:
      return waitingStatus(image, 'ContainerCreating');
  }
}

function doneStatus(pod: string, image: Image, time: string) {
  const identity = imageStatus(pod, image);
  const { containerID } = identity;
  const terminated = {
    exitCode: 0,
    reason: 'Completed',
    startedAt: time,
    finishedAt: time,
    containerID,
  };
  return {
    ...identity,
    ready: true,
    started: false,
    restartCount: 0,
    lastState: {},
    state: { terminated },
  };
}

function waitingStatus({ name, image }: Image, reason: string, message?: string) {
  const waiting = { reason, ...(message === undefined ? {} : { message }) };
  return {
    name,
    image,
    imageID: '',
    ready: false,
    started: false,
    restartCount: 0,
    lastState: {},
    state: { waiting },
  };
}

function imageStatus(pod: string, { name, image }: Image) {
  const repository = image.replace(/:[^:/]*$/, '');
  return {
    name,
    image,
    imageID: `${repository}@sha256:${digits(image, 64)}`,
    containerID: `containerd://${digits(`${pod} ${name}`, 64)}`,
  };
}

const serviceAccountMount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The volume that the ServiceAccount admission would add, which is off. */
function withToken(spec: Record<string, unknown>) {
  const { containers, volumes } = spec as {
    containers: { volumeMounts: object[] }[];
    volumes: object[];
  };
  const mount = { name: 'kube-api-access', mountPath: serviceAccountMount, readOnly: true };
  const sources = [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  ];
  return {
    containers: containers.map((each) => ({
      ...each,
      volumeMounts: [...each.volumeMounts, mount],
    })),
    volumes: [...volumes, { name: 'kube-api-access', projected: { defaultMode: 420, sources } }],
  };
}

/** Two of those that the DaemonSet controller adds to every pod. */
const daemonTolerations = ['not-ready', 'unreachable'].map((key) => ({
  key: `node.kubernetes.io/${key}`,
  operator: 'Exists',
  effect: 'NoExecute',
}));

/** How the DaemonSet controller binds a pod to its node. */
function only(node: number) {
  return {
    nodeSelectorTerms: [
      { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName(node)] }] },
    ],
  };
}

function podAddress(node: number, name: string): string {
  const [, , c = 0, d = 0] = addressOf(node);
  return `100.${64 + (Number.parseInt(digits(name, 2), 16) % 64)}.${c}.${d}`;
}

/** Five letters and digits, different for each number. */
function suffixOf(number: number): string {
  return number.toString(36).padStart(5, '0');
}
