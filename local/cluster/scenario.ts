/** Puts pools, DaemonSets and workload into a simulated cluster. */
import type { PodDisruptionBudget, Taint } from '../../lib/kubernetes/objects.ts';
import type { ReplicaController } from './controllers/replicas.ts';
import { createGrownUpNode } from './karpenter/claims.ts';
import { createNodePool, type Pool } from './karpenter/pools.ts';
import type { PoolShape } from './nodes.ts';
import { admitted, type PodOptions, podSpec } from './pods.ts';
import { uid } from './random.ts';
import type { PodPace, World } from './world.ts';

export interface PoolOptions {
  nodes: number;
  /** Default three zones of eu-west-1, filled in turn. */
  zones?: string[];
  /** Default `karpenter`. */
  managedBy?: PoolShape['managedBy'];
  /** Cores of a node; default 4. */
  cpu?: number;
  /** Default 58. */
  maxPods?: number;
  labels?: Record<string, string>;
  taints?: Taint[];
  /** Only nodes that join later are born with them. */
  startupTaints?: Taint[];
  /** Keeps the number of nodes, as a Karpenter pool with spec.replicas does. */
  static?: boolean;
}

export interface DaemonSetOptions extends PodOptions, PodPace {
  /** Default `kube-system`. */
  namespace?: string;
  name: string;
  /** Default 1. */
  maxUnavailable?: number | string;
  updateStrategy?: 'RollingUpdate' | 'OnDelete';
  minReadySeconds?: number;
}

export interface DeploymentOptions extends PodOptions, PodPace {
  /** Default `default`. */
  namespace?: string;
  name: string;
  replicas: number;
  pdb?: { minAvailable: number | string } | { maxUnavailable: number | string };
  annotations?: Record<string, string>;
  /** Pods keep their names when they come back. */
  statefulSet?: boolean;
}

export interface SinglePodOptions extends PodOptions {
  namespace?: string;
  name: string;
  /** Bound there without asking the scheduler. */
  node?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

export interface BudgetOptions {
  namespace?: string;
  name: string;
  matchLabels: Record<string, string>;
  minAvailable?: number | string;
  maxUnavailable?: number | string;
  unhealthyPodEvictionPolicy?: 'AlwaysAllow' | 'IfHealthyBudget';
}

const usualZones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];

export function addPool(
  world: World,
  pools: Map<string, Pool>,
  name: string,
  options: PoolOptions,
): void {
  if (pools.has(name)) throw new Error(`there is a pool "${name}" already`);
  const shape: PoolShape = {
    name,
    managedBy: options.managedBy ?? 'karpenter',
    zones: options.zones ?? usualZones,
    cpu: options.cpu ?? 4,
    maxPods: options.maxPods ?? 58,
    labels: options.labels ?? {},
    taints: options.taints ?? [],
    startupTaints: options.startupTaints ?? [],
  };
  const pool: Pool = {
    ...shape,
    staticNodes: options.static ? options.nodes : undefined,
    hasCapacity: true,
    nodePool: shape.managedBy === 'karpenter' ? createNodePool(world, shape) : undefined,
  };
  pools.set(name, pool);
  for (let index = 0; index < options.nodes; index++) {
    createGrownUpNode(world, pool, shape.zones[index % shape.zones.length] ?? 'eu-west-1a');
  }
}

export function addDaemonSet(world: World, options: DaemonSetOptions): void {
  const { namespace = 'kube-system', name, updateStrategy = 'RollingUpdate' } = options;
  const labels = { app: name };
  const daemonSet = world.store.create('daemonsets', {
    metadata: { namespace, name, labels },
    spec: {
      selector: { matchLabels: labels },
      ...(options.minReadySeconds === undefined
        ? {}
        : { minReadySeconds: options.minReadySeconds }),
      updateStrategy: {
        type: updateStrategy,
        ...(updateStrategy === 'OnDelete'
          ? {}
          : { rollingUpdate: { maxUnavailable: options.maxUnavailable ?? 1, maxSurge: 0 } }),
      },
      template: { metadata: { labels }, spec: podSpec(name, options) },
    },
    status: {},
  });
  world.paces.set(daemonSet.metadata.uid, paceOf(options));
}

export function addDeployment(
  world: World,
  replicas: ReplicaController,
  options: DeploymentOptions,
): void {
  const { namespace = 'default', name, pdb } = options;
  const labels = { app: name };
  const workload = {
    kind: options.statefulSet ? ('StatefulSet' as const) : ('ReplicaSet' as const),
    namespace,
    name,
    uid: uid(world.random),
    replicas: options.replicas,
    template: {
      labels,
      annotations: options.annotations ?? {},
      spec: podSpec(name, options),
    },
  };
  world.paces.set(workload.uid, paceOf(options));
  replicas.add(workload);
  if (pdb !== undefined) addBudget(world, { namespace, name, matchLabels: labels, ...pdb });
}

export function addPod(world: World, options: SinglePodOptions): void {
  const { namespace = 'default', name, node, labels, annotations, finalizers } = options;
  const draft = admitted(
    {
      metadata: {
        namespace,
        name,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
        ...(finalizers === undefined ? {} : { finalizers }),
      },
      spec: podSpec(name, options),
    },
    false,
  );
  if (node !== undefined) draft.spec.nodeName = node;
  world.store.create('pods', draft);
}

export function addBudget(world: World, options: BudgetOptions): void {
  const { namespace = 'default', name, matchLabels } = options;
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy } = options;
  const spec: PodDisruptionBudget['spec'] = {
    selector: { matchLabels },
    ...(minAvailable === undefined ? {} : { minAvailable }),
    ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
    ...(unhealthyPodEvictionPolicy === undefined ? {} : { unhealthyPodEvictionPolicy }),
  };
  world.store.create('poddisruptionbudgets', { metadata: { namespace, name }, spec, status: {} });
}

export function addVolumeClaim(world: World, key: string): void {
  const [namespace = 'default', name = ''] = key.split('/');
  world.store.create('persistentvolumeclaims', {
    metadata: { namespace, name },
    spec: { volumeName: `pvc-${name}` },
  });
}

function paceOf({ startMs, readyMs, stopMs }: PodPace): PodPace {
  return {
    ...(startMs === undefined ? {} : { startMs }),
    ...(readyMs === undefined ? {} : { readyMs }),
    ...(stopMs === undefined ? {} : { stopMs }),
  };
}
