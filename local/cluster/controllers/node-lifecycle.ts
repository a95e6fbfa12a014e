/**
 * Heartbeats, and what kube-controller-manager's node lifecycle controller makes of them: taints by
 * condition and by cordon, `Unknown` for a silent node, unready pods on a node that is not Ready.
 */
import { conditionOf, type Node, type Taint } from '../../../lib/kubernetes/objects.ts';
import { isFinished, isReady, setCondition } from '../pod-status.ts';
import { loop, stamp, type World } from '../world.ts';

interface TaintRule {
  key: string;
  effects: string[];
  applies: (node: Node) => boolean;
}

const prefix = 'node.kubernetes.io';

/** Condition or field → taints (reference: pkg/controller/nodelifecycle of Kubernetes 1.34). */
const taintRules: TaintRule[] = [
  {
    key: `${prefix}/not-ready`,
    effects: ['NoSchedule', 'NoExecute'],
    applies: (node) => conditionOf(node.status.conditions, 'Ready')?.status === 'False',
  },
  {
    key: `${prefix}/unreachable`,
    effects: ['NoSchedule', 'NoExecute'],
    applies: (node) => conditionOf(node.status.conditions, 'Ready')?.status === 'Unknown',
  },
  ...(
    [
      ['memory-pressure', 'MemoryPressure'],
      ['disk-pressure', 'DiskPressure'],
      ['pid-pressure', 'PIDPressure'],
      ['network-unavailable', 'NetworkUnavailable'],
    ] as const
  ).map(
    ([name, condition]): TaintRule => ({
      key: `${prefix}/${name}`,
      effects: ['NoSchedule'],
      applies: (node) => conditionOf(node.status.conditions, condition)?.status === 'True',
    }),
  ),
  {
    key: `${prefix}/unschedulable`,
    effects: ['NoSchedule'],
    applies: (node) => node.spec.unschedulable === true,
  },
];

export function startNodeLifecycle(world: World): void {
  const { store, timeline, delays } = world;
  const reconcile = loop(world, delays.controller, () => {
    for (const node of store.values('nodes')) reconcileNode(world, node);
  });
  store.subscribe((change) => {
    if (change.resource !== 'nodes' || change.type === 'removed') return;
    if (change.type === 'changed' && change.aspect === 'heartbeat') return;
    if (change.type === 'added') {
      const { object } = change;
      // Spread out, as real kubelets are, so that their writes do not fall on one instant.
      timeline.after(delays.heartbeat * world.random(), () => heartbeat(world, object), 'routine');
    }
    reconcile();
  });
}

function heartbeat(world: World, node: Node): void {
  const { store, machines, timeline, delays } = world;
  if (!store.has('nodes', node)) return;
  if (machines.kubeletAlive(node.metadata.name)) {
    for (const condition of node.status.conditions ?? []) {
      condition.lastHeartbeatTime = stamp(world);
    }
    store.changed('nodes', node, 'heartbeat');
  }
  timeline.after(delays.heartbeat, () => heartbeat(world, node), 'routine');
}

/** The lease of a node whose kubelet fell silent has run out. */
export function markUnknown(world: World, node: Node): void {
  if (world.machines.kubeletAlive(node.metadata.name)) return;
  const changed = setCondition(
    node.status,
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    },
    stamp(world),
  );
  if (changed) world.store.changed('nodes', node, 'status');
}

function reconcileNode(world: World, node: Node): void {
  const { store } = world;
  const taints = withConditionTaints(node, stamp(world));
  if (taints !== undefined) {
    if (taints.length > 0) node.spec.taints = taints;
    else delete node.spec.taints;
    store.changed('nodes', node, 'spec');
  }
  if (conditionOf(node.status.conditions, 'Ready')?.status === 'True') return;
  for (const pod of store.values('pods')) {
    if (pod.spec.nodeName !== node.metadata.name || isFinished(pod) || !isReady(pod)) continue;
    // containerStatuses stay as they were: nobody is there to ask.
    setCondition(pod.status, { type: 'Ready', status: 'False' }, stamp(world));
    store.changed('pods', pod, 'status');
  }
}

/** The taints that the node should have, or undefined when it has them. */
function withConditionTaints(node: Node, now: string): Taint[] | undefined {
  let taints = node.spec.taints ?? [];
  let changed = false;
  for (const { key, effects, applies } of taintRules) {
    const wanted = applies(node) ? effects : [];
    const kept = taints.filter((taint) => taint.key !== key || wanted.includes(taint.effect));
    const missing = wanted.filter(
      (effect) => !kept.some((taint) => taint.key === key && taint.effect === effect),
    );
    if (kept.length === taints.length && missing.length === 0) continue;
    changed = true;
    taints = [...kept, ...missing.map((effect) => ({ key, effect, timeAdded: now }))];
  }
  return changed ? taints : undefined;
}
