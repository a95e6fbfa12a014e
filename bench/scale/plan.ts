/** What is made and broken at which size: decided before anything is made. Pure. */
import type { Outcome } from '../../test/e2e/harness/faults.ts';
import { catalogue } from '../daemonsets.ts';

/** A pool of Karpenter whose nodes are all in one zone. */
export interface PoolPlan {
  name: string;
  zone: string;
  nodes: number;
}

/** A DaemonSet (`namespace/name`) that fails on a node, and how. */
export interface Fault {
  node: string;
  daemonSet: string;
  outcome: Outcome;
}

const zones = ['test-zone-a', 'test-zone-b', 'test-zone-c', 'test-zone-d'];
/** From so many nodes on there are two pools in each zone. */
const manyNodes = 400;

/** As many nodes in each pool as the others have, or one more. */
export function poolsOf(nodes: number): PoolPlan[] {
  const rounds = nodes >= manyNodes ? 2 : 1;
  const count = zones.length * rounds;
  return Array.from({ length: count }, (_, index) => ({
    name: `pool-${index + 1}`,
    zone: zones[index % zones.length] ?? '',
    nodes: Math.floor(nodes / count) + (index < nodes % count ? 1 : 0),
  }));
}

/** Faults of the node alone: each can be had on one node while all others are well. */
const outcomes: readonly Outcome[] = [
  'crash-loop',
  'image-pull',
  'never-ready',
  'sandbox',
  'oom-killed',
];

const required = catalogue.filter(({ critical }) => critical).map(({ key }) => key);

/**
 * One fault on each of `count` nodes: the nodes in turns of the pools, the DaemonSets and kinds of
 * fault in turns too, so that nothing fails often enough in one place for its breaker, or alike often
 * enough to be the DaemonSet's own.
 */
export function faultsOn(nodesByPool: readonly (readonly string[])[], count: number): Fault[] {
  const left = nodesByPool.map((nodes) => nodes.toSorted());
  const available = left.reduce((sum, nodes) => sum + nodes.length, 0);
  if (count > available) throw new Error(`there are ${available} nodes, not ${count}, to break`);
  const faults: Fault[] = [];
  for (let turn = 0; faults.length < count; turn += 1) {
    const node = left[turn % left.length]?.shift();
    if (node === undefined) continue;
    const index = faults.length;
    faults.push({
      node,
      daemonSet: required[index % required.length] ?? '',
      outcome: outcomes[index % outcomes.length] ?? 'never-ready',
    });
  }
  return faults;
}
