/**
 * Reads what the audit wants to know of a live cluster. What the caller may not read, or the server
 * does not have, is said and left unchecked; a read that fails otherwise fails the whole.
 *
 * Of ConfigMaps, Secrets and ServiceAccounts only those are read that a DaemonSet refers to, and of
 * these only the names of keys are kept.
 */
import { isKubernetesError } from '../../errors.ts';
import { daemonSetUidOf } from '../../gap/pod-target.ts';
import { quantityOf } from '../../gap/room.ts';
import { keyOf, type Pod } from '../../kubernetes/objects.ts';
import type { PlainReads } from '../../kubernetes/plain-reads.ts';
import { projectNode, projectPodForScan } from '../../kubernetes/projections.ts';
import { revisionLabel } from '../../kubernetes/quick-reads.ts';
import type {
  Found,
  InputReference,
  PodUsage,
  PreventionFacts,
  Reading,
  WrittenDaemonSet,
} from '../facts.ts';
import { withoutOwned } from './objects.ts';
import {
  keyedObject,
  nodeClass,
  nodePool,
  priorityClass,
  serviceAccount,
  workload,
  writtenDaemonSet,
} from './project.ts';
import { isRaw, type Raw, rawOf, rawsOf, textIn } from './raw.ts';

const paths = {
  daemonSets: '/apis/apps/v1/daemonsets',
  nodes: '/api/v1/nodes',
  nodePools: '/apis/karpenter.sh/v1/nodepools',
  ec2NodeClasses: '/apis/karpenter.k8s.aws/v1/ec2nodeclasses',
  eksNodeClasses: '/apis/eks.amazonaws.com/v1/nodeclasses',
  priorityClasses: '/apis/scheduling.k8s.io/v1/priorityclasses',
  deployments: '/apis/apps/v1/deployments',
  statefulSets: '/apis/apps/v1/statefulsets',
  pods: '/api/v1/pods',
  podMetrics: '/apis/metrics.k8s.io/v1beta1/pods',
};

export interface LiveOptions {
  cluster: string;
  /** Epoch ms. */
  now: number;
  /** Also ConfigMaps, Secrets, ServiceAccounts and what containers use. */
  inputs: boolean;
}

/** @throws KubernetesError when DaemonSets or nodes cannot be read, or a read breaks off. */
export async function readLiveFacts(
  reads: PlainReads,
  { cluster, now, inputs }: LiveOptions,
): Promise<PreventionFacts> {
  const daemonSets = (await reads.list(paths.daemonSets, {})).map((raw) =>
    live(writtenDaemonSet(rawOf(raw))),
  );
  const nodes = (await reads.list(paths.nodes, {})).map((raw) => live(projectNode(raw)));
  const list = <T>(what: string, at: string[], project: (raw: Raw) => T) =>
    optionalList(reads, what, at, project);
  const leftOut = {
    kind: 'not-checked',
    reason: 'ConfigMaps, Secrets and usage are looked at only by the command line',
  } as const;
  return {
    source: 'cluster',
    cluster,
    readAt: now,
    daemonSets,
    nodes: { kind: 'read', items: nodes },
    nodePools: await list('NodePools', [paths.nodePools], nodePool),
    nodeClasses: await list('NodeClasses', [paths.ec2NodeClasses, paths.eksNodeClasses], nodeClass),
    nodeGroups: { kind: 'not-checked', reason: 'managed node groups were not asked for' },
    launchTemplates: { kind: 'not-checked', reason: 'launch templates were not asked for' },
    priorityClasses: await list('PriorityClasses', [paths.priorityClasses], priorityClass),
    workloads: withoutOwned(
      await list('Deployments and StatefulSets', [paths.deployments, paths.statefulSets], workload),
    ),
    ...(inputs
      ? await readInputs(reads, daemonSets)
      : { configMaps: leftOut, secrets: leftOut, serviceAccounts: leftOut }),
    usage: inputs ? await readUsage(reads, daemonSets) : leftOut,
  };
}

function live<T>(object: T): Found<T> {
  return { object, origin: { kind: 'cluster' } };
}

/** Lists of a typed list leave the kind out: it is that of the path. */
const kindOfPath: Record<string, string> = {
  [paths.ec2NodeClasses]: 'EC2NodeClass',
  [paths.eksNodeClasses]: 'NodeClass',
  [paths.deployments]: 'Deployment',
  [paths.statefulSets]: 'StatefulSet',
};

async function optionalList<T>(
  reads: PlainReads,
  what: string,
  at: readonly string[],
  project: (raw: Raw) => T,
): Promise<Reading<T>> {
  const items: Found<T>[] = [];
  for (const path of at) {
    const part = await optional(what, () => reads.list(path, {}));
    if (part.kind === 'forbidden') return { kind: 'not-checked', reason: part.reason };
    // What the server does not serve, there is none of.
    const kind = kindOfPath[path];
    for (const raw of part.kind === 'read' ? part.value : []) {
      items.push(live(project(kind === undefined ? rawOf(raw) : { kind, ...rawOf(raw) })));
    }
  }
  return { kind: 'read', items };
}

type Optional<T> =
  | { kind: 'read'; value: T }
  | { kind: 'not-served' }
  | { kind: 'forbidden'; reason: string };

async function optional<T>(what: string, read: () => Promise<T>): Promise<Optional<T>> {
  try {
    return { kind: 'read', value: await read() };
  } catch (error) {
    if (isKubernetesError(error, 'not-found')) return { kind: 'not-served' };
    if (isKubernetesError(error, 'forbidden')) {
      return { kind: 'forbidden', reason: `no right to read ${what}` };
    }
    throw error;
  }
}

type Inputs = Pick<PreventionFacts, 'configMaps' | 'secrets' | 'serviceAccounts'>;

async function readInputs(
  reads: PlainReads,
  daemonSets: readonly Found<WrittenDaemonSet>[],
): Promise<Inputs> {
  const accounts = distinct(
    daemonSets.map(({ object }) => ({
      namespace: object.metadata.namespace ?? 'default',
      name: object.spec.template.spec.serviceAccountName ?? 'default',
    })),
  );
  const serviceAccounts = await readNamed(reads, 'serviceaccounts', accounts, serviceAccount);
  const pulled = serviceAccounts.kind === 'read' ? serviceAccounts.items : [];
  const pullSecrets = [
    ...pulled.flatMap(({ object: { namespace, imagePullSecrets } }) =>
      imagePullSecrets.map((name) => ({ namespace, name })),
    ),
    ...daemonSets.flatMap(({ object: { metadata, spec } }) =>
      (spec.template.spec.imagePullSecrets ?? []).map(({ name }) => ({
        namespace: metadata.namespace ?? 'default',
        name,
      })),
    ),
  ];
  const secrets = distinct([...referenced(daemonSets, 'Secret'), ...pullSecrets]);
  return {
    configMaps: await readNamed(
      reads,
      'configmaps',
      distinct(referenced(daemonSets, 'ConfigMap')),
      (raw) => keyedObject({ kind: 'ConfigMap', ...raw }),
    ),
    secrets: await readNamed(reads, 'secrets', secrets, (raw) =>
      keyedObject({ kind: 'Secret', ...raw }),
    ),
    serviceAccounts,
  };
}

interface Place {
  namespace: string;
  name: string;
}

function referenced(
  daemonSets: readonly Found<WrittenDaemonSet>[],
  kind: InputReference['kind'],
): Place[] {
  return daemonSets.flatMap(({ object: { metadata, inputs } }) =>
    inputs
      .filter((input) => input.kind === kind)
      .map(({ name }) => ({ namespace: metadata.namespace ?? 'default', name })),
  );
}

function distinct(places: readonly Place[]): Place[] {
  return [...new Map(places.map((each) => [`${each.namespace}/${each.name}`, each])).values()];
}

/** Those that are there. Where one of them may not be read, nothing is said of any. */
async function readNamed<T>(
  reads: PlainReads,
  resource: string,
  places: readonly Place[],
  project: (raw: Raw) => T,
): Promise<Reading<T>> {
  const items: Found<T>[] = [];
  for (const { namespace, name } of places) {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}`;
    const found = await optional(`${resource} in ${namespace}`, () => reads.get(path));
    if (found.kind === 'forbidden') return { kind: 'not-checked', reason: found.reason };
    if (found.kind === 'read' && isRaw(found.value)) items.push(live(project(found.value)));
  }
  return { kind: 'read', items };
}

async function readUsage(
  reads: PlainReads,
  daemonSets: readonly Found<WrittenDaemonSet>[],
): Promise<Reading<PodUsage>> {
  const metrics = await optional('pods.metrics.k8s.io', () => reads.list(paths.podMetrics, {}));
  if (metrics.kind === 'forbidden') return { kind: 'not-checked', reason: metrics.reason };
  if (metrics.kind === 'not-served') {
    return { kind: 'not-checked', reason: 'the cluster has no metrics.k8s.io: no metrics-server' };
  }
  const pods = await reads.list(paths.pods, { labelSelector: revisionLabel });
  const owners = new Map(daemonSets.map(({ object }) => [object.metadata.uid, keyOf(object)]));
  const byKey = new Map(pods.map(projectPodForScan).map((pod) => [keyOf(pod), pod]));
  const items = metrics.value.flatMap((raw) => usageOf(rawOf(raw), byKey, owners)).map(live);
  return { kind: 'read', items };
}

function usageOf(
  raw: Raw,
  pods: ReadonlyMap<string, Pod>,
  owners: ReadonlyMap<string, string>,
): PodUsage[] {
  const metadata = rawOf(raw.metadata);
  const namespace = textIn(metadata, 'namespace') ?? 'default';
  const name = textIn(metadata, 'name') ?? '';
  const pod = pods.get(`${namespace}/${name}`);
  const daemonSet = owners.get(pod === undefined ? '' : (daemonSetUidOf(pod) ?? ''));
  if (pod === undefined || daemonSet === undefined) return [];
  const containers = rawsOf(raw.containers).map((container) => {
    const usage = rawOf(container.usage);
    return {
      name: textIn(container, 'name') ?? '(unnamed)',
      memoryBytes: quantityOf(textIn(usage, 'memory')) ?? 0,
      cpuCores: quantityOf(textIn(usage, 'cpu')) ?? 0,
    };
  });
  return [{ namespace, pod: name, daemonSet, node: pod.spec.nodeName ?? '', containers }];
}
