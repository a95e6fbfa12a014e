/**
 * kube-scheduler in small: binds pending pods by priority and age to a node with room in pods, CPU
 * and host ports, honouring cordons, taints, node selectors and a DaemonSet pod's target node.
 * It never preempts and knows neither memory nor affinity between pods.
 */
import type { Node, Pod } from '../../../lib/kubernetes/objects.ts';
import { zoneOf } from '../labels.ts';
import { isFinished, setCondition } from '../pod-status.ts';
import { controllerOf, hostPorts, parseCpu, requestedCpu, targetNode } from '../pods.ts';
import { untolerated } from '../tolerations.ts';
import { loop, stamp, type World } from '../world.ts';

/** What pods on a node take up. */
interface Usage {
  cpu: number;
  pods: number;
  ports: Set<number>;
  /** Pods by the uid of their controller, to spread each owner's pods. */
  owners: Map<string, number>;
}

const otherNode = "node(s) didn't satisfy plugin(s) [NodeAffinity]";
/** Refusals that evicting other pods could cure, were the simulation to preempt. */
const curable = /^(Insufficient|Too many pods|node\(s\) didn't have free ports)/;

export function startScheduler(world: World): void {
  const { store, delays } = world;
  const schedule = loop(world, delays.scheduler, () => scheduleAll(world));
  store.subscribe((change) => {
    if (change.resource === 'nodes') {
      if (change.type !== 'changed' || change.aspect !== 'heartbeat') schedule();
    } else if (change.resource === 'pods') {
      if (change.type === 'removed' || isFinished(change.object) || isWaiting(change.object)) {
        schedule();
      }
    }
  });
}

function isWaiting(pod: Pod): boolean {
  return pod.spec.nodeName === undefined && pod.metadata.deletionTimestamp === undefined;
}

function scheduleAll(world: World): void {
  const { store } = world;
  const waiting = [...store.values('pods')].filter(isWaiting);
  if (waiting.length === 0) return;
  // Array sorting is stable, so pods of one priority keep the order of their creation.
  waiting.sort((a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0));
  const nodes = [...store.values('nodes')];
  const usages = usageByNode(store.values('pods'));
  for (const pod of waiting) {
    const target = targetNode(pod);
    const candidates = nodes.filter(
      (node) => target === undefined || node.metadata.name === target,
    );
    const reasons = new Map<string, number>();
    const feasible: Node[] = [];
    let preemptible = 0;
    for (const node of candidates) {
      const refusals = refusalsOf(pod, node, usages.get(node.metadata.name));
      if (refusals.length === 0) feasible.push(node);
      else if (refusals.every((refusal) => curable.test(refusal))) preemptible++;
      for (const refusal of refusals) reasons.set(refusal, (reasons.get(refusal) ?? 0) + 1);
    }
    const others = nodes.length - candidates.length;
    if (others > 0) reasons.set(otherNode, others);
    const chosen = choose(pod, feasible, nodes, usages);
    if (chosen === undefined) {
      showUnschedulable(world, pod, reasons, nodes.length, preemptible);
    } else {
      bind(world, pod, chosen);
      addUsage(usages, pod, chosen.metadata.name);
    }
  }
}

/** Why the node will not do: the first filter plugin that objects, with all that it objects to. */
function refusalsOf(pod: Pod, node: Node, usage: Usage | undefined): string[] {
  const { spec } = pod;
  const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  if (node.spec.unschedulable && untolerated([cordon], spec.tolerations, ['NoSchedule'])) {
    return ['node(s) were unschedulable'];
  }
  if (untolerated(node.spec.taints, spec.tolerations, ['NoSchedule', 'NoExecute'])) {
    return ['node(s) had untolerated taint(s)'];
  }
  const labels = node.metadata.labels ?? {};
  if (Object.entries(spec.nodeSelector ?? {}).some(([key, value]) => labels[key] !== value)) {
    return ["node(s) didn't match Pod's node affinity/selector"];
  }
  if (hostPorts(spec).some((port) => usage?.ports.has(port))) {
    return ["node(s) didn't have free ports for the requested pod ports"];
  }
  const refusals: string[] = [];
  const allocatable = node.status.allocatable ?? {};
  if ((usage?.pods ?? 0) + 1 > Number(allocatable.pods ?? 0)) refusals.push('Too many pods');
  // Tenths of a thousandth absorb the rounding of sums such as 0.1 + 0.2.
  if ((usage?.cpu ?? 0) + requestedCpu(spec) > parseCpu(allocatable.cpu) + 0.0001) {
    refusals.push('Insufficient cpu');
  }
  return refusals;
}

/** Spreads an owner's pods over zones, then over nodes, then evens out the CPU. */
function choose(
  pod: Pod,
  feasible: Node[],
  nodes: Node[],
  usages: Map<string, Usage>,
): Node | undefined {
  if (feasible.length <= 1) return feasible[0];
  const owner = controllerOf(pod)?.uid ?? '';
  const ownedOn = (node: Node) => usages.get(node.metadata.name)?.owners.get(owner) ?? 0;
  const inZone = new Map<string | undefined, number>();
  for (const node of nodes) {
    inZone.set(zoneOf(node), (inZone.get(zoneOf(node)) ?? 0) + ownedOn(node));
  }
  const score = (node: Node): number[] => [
    inZone.get(zoneOf(node)) ?? 0,
    ownedOn(node),
    usages.get(node.metadata.name)?.cpu ?? 0,
    usages.get(node.metadata.name)?.pods ?? 0,
  ];
  return feasible.reduce((best, node) => (isLower(score(node), score(best)) ? node : best));
}

function isLower(a: number[], b: number[]): boolean {
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0;
    if (value !== other) return value < other;
  }
  return false;
}

function bind(world: World, pod: Pod, node: Node): void {
  pod.spec.nodeName = node.metadata.name;
  setCondition(pod.status, { type: 'PodScheduled', status: 'True' }, stamp(world));
  world.store.changed('pods', pod, 'spec');
}

function showUnschedulable(
  world: World,
  pod: Pod,
  reasons: Map<string, number>,
  total: number,
  preemptible: number,
): void {
  const list = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  const preemption = [
    preemptible > 0 ? `${preemptible} No preemption victims found for incoming pod` : '',
    total > preemptible ? `${total - preemptible} Preemption is not helpful for scheduling` : '',
  ].filter((part) => part !== '');
  const message =
    total === 0
      ? 'no nodes available to schedule pods'
      : `0/${total} nodes are available: ${list.join(', ')}. no new claims to deallocate, ` +
        `preemption: 0/${total} nodes are available: ${preemption.join(', ')}.`;
  const changed = setCondition(
    pod.status,
    { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
    stamp(world),
  );
  if (!changed) return;
  world.store.changed('pods', pod, 'status');
  world.recorder.record({
    kind: 'Pod',
    object: pod,
    type: 'Warning',
    reason: 'FailedScheduling',
    message,
    component: 'default-scheduler',
  });
}

function usageByNode(pods: Iterable<Pod>): Map<string, Usage> {
  const usages = new Map<string, Usage>();
  for (const pod of pods) {
    if (pod.spec.nodeName !== undefined && !isFinished(pod)) {
      addUsage(usages, pod, pod.spec.nodeName);
    }
  }
  return usages;
}

function addUsage(usages: Map<string, Usage>, pod: Pod, node: string): void {
  const usage = usages.get(node) ?? { cpu: 0, pods: 0, ports: new Set(), owners: new Map() };
  usages.set(node, usage);
  usage.cpu += requestedCpu(pod.spec);
  usage.pods++;
  for (const port of hostPorts(pod.spec)) usage.ports.add(port);
  const owner = controllerOf(pod)?.uid ?? '';
  usage.owners.set(owner, (usage.owners.get(owner) ?? 0) + 1);
}
