/**
 * The cluster of scan.e2e.test.ts: DaemonSets with selectors and tolerations, nodes of every kind,
 * and the gaps that are made on them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { targetNodeOf } from '../../../lib/gap/pod-target.ts';
import { conditionOf, type DaemonSet, type Pod } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import type { Outcome } from '../harness/faults.ts';
import { applyDaemonSet, applyNode, type DaemonSetOptions } from '../harness/objects.ts';
import { isDaemonSetReady, isReady, node, podsOf, stopKubelet } from '../harness/state.ts';
import { waitFor, wholeSecond } from '../harness/wait.ts';

/** A gap as it is made, or as a scan tells it. */
export interface MadeGap {
  node: string;
  daemonSet: string;
  cause: string;
}

/** Graces short enough to wait for; the breaker out of the way, so that gaps are actionable. */
export const scanConfig = `
clusters:
  - name: nodegap-e2e
    region: eu-west-1
requiredDaemonSets:
  - name: logging/agent
    action: isolate
  - name: quota/blocked
  - priorityClass: system-node-critical
timings:
  nodeGrace: 1s
  podGrace: 2s
breaker:
  maxUnhealthyPercent: 100
`;

export const cni = 'kube-system/cni';
export const agent = 'logging/agent';
const heavy = 'kube-system/heavy';
const exporter = 'kube-system/exporter';
const gpuPlugin = 'kube-system/gpu-plugin';
const blocked = 'quota/blocked';
const optional = 'extra/optional';

/** Made by the fault injector. */
const faults: { node: string; daemonSet: string; outcome: Outcome; cause: string }[] = [
  { node: 'worker-1', daemonSet: cni, outcome: 'never-ready', cause: 'not-ready' },
  { node: 'worker-2', daemonSet: cni, outcome: 'image-pull', cause: 'image-pull' },
  { node: 'worker-3', daemonSet: cni, outcome: 'crash-loop', cause: 'crash-loop' },
  { node: 'worker-4', daemonSet: agent, outcome: 'oom-killed', cause: 'oom-killed' },
  { node: 'worker-5', daemonSet: agent, outcome: 'config-error', cause: 'config-error' },
  { node: 'worker-5', daemonSet: cni, outcome: 'sandbox', cause: 'sandbox' },
  // A cordon is no excuse: DaemonSets tolerate it.
  { node: 'cordoned-1', daemonSet: agent, outcome: 'crash-loop', cause: 'crash-loop' },
  { node: 'gpu-1', daemonSet: gpuPlugin, outcome: 'never-ready', cause: 'not-ready' },
];

/** Made by the state of the cluster itself, in the words of its real controllers. */
const circumstances: MadeGap[] = [
  { node: 'fresh-1', daemonSet: agent, cause: 'untolerated-taint' },
  { node: 'marked-1', daemonSet: agent, cause: 'untolerated-taint' },
  { node: 'port-1', daemonSet: exporter, cause: 'unschedulable-ports' },
  { node: 'silent-1', daemonSet: agent, cause: 'node-not-ready' },
  { node: 'silent-1', daemonSet: cni, cause: 'node-not-ready' },
  { node: 'small-1', daemonSet: heavy, cause: 'unschedulable-resources' },
  { node: 'worker-6', daemonSet: blocked, cause: 'create-blocked' },
];

/** Every gap of a required DaemonSet, sorted as a scan sorts. */
export const requiredGaps: MadeGap[] = sorted([
  ...faults.map(({ node, daemonSet, cause }) => ({ node, daemonSet, cause })),
  ...circumstances,
]);

/** Only `--all-daemonsets` shows it. */
export const optionalGap: MadeGap = {
  node: 'worker-6',
  daemonSet: optional,
  cause: 'not-ready',
};

export function sorted(gaps: readonly MadeGap[]): MadeGap[] {
  const key = ({ node, daemonSet }: MadeGap) => `${node} ${daemonSet}`;
  return [...gaps].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Nodes that are well, and DaemonSets Ready wherever they run. */
export async function makeHealthyCluster(cluster: ControlPlane): Promise<void> {
  const client = cluster.client();
  const zones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];
  const labels: Record<string, Record<string, string>> = {
    'worker-1': { heavy: 'yes', ports: 'yes' },
    'worker-2': { heavy: 'yes', ports: 'yes' },
    'worker-6': { optional: 'yes', blocked: 'yes' },
    'gpu-1': { accelerator: 'gpu' },
    'fargate-1': { 'eks.amazonaws.com/compute-type': 'fargate' },
  };
  const plain = [1, 2, 3, 4, 5, 6].map((number) => `worker-${number}`);
  const names = [...plain, 'cordoned-1', 'gpu-1', 'silent-1', 'fargate-1'];
  for (const [index, name] of names.entries()) {
    const zone = zones[index % zones.length] ?? '';
    const taints = name === 'gpu-1' ? [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] : [];
    await applyNode(client, { name, zone, labels: labels[name] ?? {}, taints });
  }
  for (const namespace of ['logging', 'quota', 'extra']) {
    await client.create('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
  }
  for (const daemonSet of daemonSets) await applyDaemonSet(client, daemonSet);
  await waitFor(() => areReady(cluster, [cni, agent, heavy, exporter, gpuPlugin, optional]), {
    timeout: 30_000,
    what: 'the DaemonSets to be Ready everywhere',
    describe: () => cluster.kubectl(['get', 'daemonsets,pods', '-A', '-o', 'wide']),
  });
}

const unprivileged = { priorityClassName: '', tolerations: [] };

const daemonSets: DaemonSetOptions[] = [
  { name: 'cni' },
  { name: 'agent', namespace: 'logging', ...unprivileged },
  { name: 'heavy', nodeSelector: { heavy: 'yes' }, requests: { cpu: '2' } },
  { name: 'exporter', nodeSelector: { ports: 'yes' }, hostPort: 9100 },
  {
    name: 'gpu-plugin',
    nodeSelector: { accelerator: 'gpu' },
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
  },
  { name: 'optional', namespace: 'extra', ...unprivileged, nodeSelector: { optional: 'yes' } },
];

async function areReady(cluster: ControlPlane, names: string[]): Promise<boolean> {
  const ready = await Promise.all(names.map((name) => isDaemonSetReady(cluster.client(), name)));
  return ready.every((each) => each);
}

/** Makes every gap, and returns when the cluster's own objects show them all. */
export async function makeGaps(cluster: ControlPlane): Promise<void> {
  const client = cluster.client();
  // What takes longest comes first: the node lifecycle controller is patient.
  await stopKubelet(client, 'silent-1');
  await cluster.kubectl(['cordon', 'cordoned-1']);
  await makeNodesWithObstacles(cluster);
  // A pod that becomes Ready after a gap began is a witness: those above must come before. By the
  // counts of the DaemonSet alone it is Ready before it is wanted on the nodes that are new.
  await waitFor(
    async () => {
      for (const name of ['small-1', 'port-1']) {
        const there = await podsOf(client, { node: name, daemonSet: agent });
        if (!there.some(isReady)) return false;
      }
      return areReady(cluster, [agent]);
    },
    { timeout: 60_000, what: `${agent} to be Ready, also on new nodes` },
  );
  await sleep(wholeSecond);
  for (const { node, daemonSet, outcome } of faults) {
    await cluster.injector.set({ node, daemonSet }, outcome);
  }
  await cluster.injector.set(optionalGap, 'never-ready');
  // Nodes that are left out have no gaps, whatever their pods are like.
  await cluster.injector.set({ node: 'fargate-1', daemonSet: cni }, 'never-ready');
  await makeQuota(cluster);
  for (const { node, daemonSet, outcome } of faults) {
    await podShows(cluster, node, daemonSet, outcome);
  }
  for (const pair of circumstances.filter(({ cause }) => cause.startsWith('unschedulable-'))) {
    await podIsRefused(cluster, pair);
  }
  await waitFor(
    async () => {
      const silent = await node(client, 'silent-1');
      return conditionOf(silent?.status.conditions, 'Ready')?.status === 'Unknown';
    },
    { timeout: 60_000, what: 'silent-1 to be Unknown' },
  );
}

/** Nodes on which something stands in the way of a DaemonSet from the first moment on. */
async function makeNodesWithObstacles({ client }: ControlPlane): Promise<void> {
  const admin = client();
  const noSchedule = (key: string) => [{ key, effect: 'NoSchedule' }];
  const startupTaint = 'node.cilium.io/agent-not-ready';
  await applyNode(admin, { name: 'fresh-1', taints: noSchedule(startupTaint) });
  await applyNode(admin, { name: 'marked-1', taints: noSchedule('nodegap.dev/daemonset-gap') });
  await applyNode(admin, { name: 'small-1', labels: { heavy: 'yes' }, capacity: { cpu: '1' } });
  await applyNode(admin, { name: 'port-1' });
  await admin.create('/api/v1/namespaces/kube-system/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'squatter' },
    spec: {
      nodeName: 'port-1',
      // Of the same priority, or the scheduler would preempt it.
      priorityClassName: 'system-node-critical',
      containers: [
        { name: 'main', image: 'squatter', ports: [{ containerPort: 9, hostPort: 9100 }] },
      ],
    },
  });
  // Only now does the DaemonSet want to be there.
  await applyNode(admin, { name: 'port-1', labels: { ports: 'yes' } });
}

/** A namespace in which the API server refuses every pod, and a DaemonSet that wants one. */
async function makeQuota({ client }: ControlPlane): Promise<void> {
  const path = '/api/v1/namespaces/quota/resourcequotas';
  await client().create(path, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'no-pods' },
    spec: { hard: { pods: '0' } },
  });
  await waitFor(
    async () => {
      const quota = await client().get<{ status?: { hard?: object } }>(`${path}/no-pods`);
      return quota.status?.hard !== undefined;
    },
    { timeout: 15_000, what: 'the quota to be in force' },
  );
  await applyDaemonSet(client(), {
    name: 'blocked',
    namespace: 'quota',
    ...unprivileged,
    nodeSelector: { blocked: 'yes' },
  });
  await waitFor(
    async () => {
      const events = await client().list<{ reason?: string }>('/api/v1/namespaces/quota/events');
      return events.some(({ reason }) => reason === 'FailedCreate');
    },
    { timeout: 15_000, what: 'the quota to refuse the pod' },
  );
}

/** What a pod with that fault looks like. */
const signs: Partial<Record<Outcome, (pod: Pod) => boolean>> = {
  'never-ready': (pod) => pod.status.phase === 'Running' && !isReady(pod),
  'image-pull': (pod) => waitingReason(pod) === 'ImagePullBackOff',
  'config-error': (pod) => waitingReason(pod) === 'CreateContainerConfigError',
  sandbox: (pod) => waitingReason(pod) === 'ContainerCreating',
  'crash-loop': (pod) => lastEnd(pod) === 'Error',
  'oom-killed': (pod) => lastEnd(pod) === 'OOMKilled',
};

function waitingReason(pod: Pod): string | undefined {
  return pod.status.containerStatuses?.[0]?.state?.waiting?.reason;
}

function lastEnd(pod: Pod): string | undefined {
  return pod.status.containerStatuses?.[0]?.lastState?.terminated?.reason;
}

async function podShows(
  cluster: ControlPlane,
  node: string,
  daemonSet: string,
  outcome: Outcome,
): Promise<void> {
  const shows = signs[outcome];
  if (shows === undefined) throw new Error(`nothing shows a pod that is ${outcome}`);
  await waitFor(
    async () => (await podsOf(cluster.client(), { node, daemonSet })).some((pod) => shows(pod)),
    { timeout: 30_000, what: `${daemonSet} on ${node} to be ${outcome}` },
  );
}

/** The scheduler has looked at the pod that is for this node, and has no place for it. */
async function podIsRefused(cluster: ControlPlane, { node, daemonSet }: MadeGap): Promise<void> {
  const [namespace, name] = daemonSet.split('/');
  await waitFor(
    async () => {
      const pods = await cluster
        .client()
        .list<Pod>(`/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${name}`);
      return pods.some(
        (pod) =>
          targetNodeOf(pod) === node &&
          conditionOf(pod.status.conditions, 'PodScheduled')?.reason === 'Unschedulable',
      );
    },
    { timeout: 30_000, what: `the scheduler to refuse ${daemonSet} on ${node}` },
  );
}

/**
 * How many pairs there are by the DaemonSet controller's own count: those that it wants scheduled,
 * without the Fargate node, and with those that only a startup taint, nodegap's taint or the
 * taint of a silent node keeps it from.
 */
export async function eligiblePairs(cluster: ControlPlane): Promise<number> {
  const all = await cluster.client().list<DaemonSet>('/apis/apps/v1/daemonsets');
  const wanted = all
    .filter(({ metadata }) => metadata.namespace !== 'extra')
    .reduce((sum, { status }) => sum + (status.desiredNumberScheduled ?? 0), 0);
  const onFargate = [cni, agent].length;
  const keptFrom = ['fresh-1', 'marked-1', 'silent-1'].length;
  return wanted - onFargate + keptFrom;
}
