/** What is wrong with the cluster of the bench, node by node: known before anything is made. */
import { createHash } from 'node:crypto';
import type { Cause } from '../lib/gap/model.ts';
import { catalogue } from './daemonsets.ts';

/** How the pod of a broken pair looks. `creating` is of young nodes only. */
export type PodFault = 'crash-loop' | 'image-pull' | 'missing' | 'not-ready' | 'creating';

/** Everything that is decided about a cluster of `size` nodes. Nodes are numbers from 0. */
export interface Plan {
  size: number;
  notReady: ReadonlySet<number>;
  /** Nodes that are made at every start, so that they are always young. */
  young: ReadonlySet<number>;
  /** The fault of the pair of that node and DaemonSet (`namespace/name`), if there is one. */
  faultOf(node: number, daemonSet: string): PodFault | undefined;
}

/** A gap that a scan has to find. */
export interface ExpectedGap {
  node: string;
  daemonSet: string;
  /** The causes that are right; which one depends on how old the cluster is. */
  causes: readonly Cause[];
}

const notReadyNodes = 5;
const youngNodes = 10;
/** Of the pairs of each of the two broken DaemonSets. */
const brokenShare = 0.01;
const brokenDaemonSets = ['kube-system/aws-node', 'kube-system/ebs-csi-node'];
const brokenKinds: readonly PodFault[] = ['crash-loop', 'image-pull', 'missing', 'not-ready'];
/** What young nodes do not have yet. */
const youngFaults: Readonly<Record<string, PodFault>> = {
  'kube-system/ebs-csi-node': 'creating',
  'kube-system/eks-node-monitoring-agent': 'missing',
};

const causesOf: Readonly<Record<PodFault, readonly Cause[]>> = {
  'crash-loop': ['crash-loop'],
  'image-pull': ['image-pull'],
  missing: ['missing'],
  // On a cluster that was loaded a moment ago every pod is within its grace.
  'not-ready': ['not-ready', 'starting'],
  creating: ['starting', 'unknown'],
};

/** The plan of a cluster of that many nodes: the same one every time. */
export function planOf(size: number): Plan {
  const broken = Math.max(brokenKinds.length, Math.round(size * brokenShare));
  const needed = notReadyNodes + youngNodes + broken * brokenDaemonSets.length;
  if (needed > size) throw new Error(`the bench needs at least ${needed} nodes, not ${size}`);
  const shuffled = Array.from({ length: size }, (_, node) => ({ node, rank: rankOf(node) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ node }) => node);
  const notReady = new Set(shuffled.splice(0, notReadyNodes));
  const young = new Set(shuffled.splice(0, youngNodes));
  const faults = new Map<string, PodFault>();
  for (const daemonSet of brokenDaemonSets) {
    shuffled.splice(0, broken).forEach((node, index) => {
      const kind = brokenKinds[index % brokenKinds.length];
      if (kind !== undefined) faults.set(`${node} ${daemonSet}`, kind);
    });
  }
  return {
    size,
    notReady,
    young,
    faultOf: (node, daemonSet) =>
      young.has(node) ? youngFaults[daemonSet] : faults.get(`${node} ${daemonSet}`),
  };
}

/** The gaps in required DaemonSets, sorted by node, then DaemonSet. */
export function expectedGaps(plan: Plan): ExpectedGap[] {
  const required = catalogue.filter(({ critical }) => critical).map(({ key }) => key);
  const gaps: ExpectedGap[] = [];
  for (let node = 0; node < plan.size; node += 1) {
    for (const daemonSet of required) {
      const fault = plan.faultOf(node, daemonSet);
      const causes: readonly Cause[] | undefined = plan.notReady.has(node)
        ? ['node-not-ready']
        : fault && causesOf[fault];
      if (causes !== undefined) gaps.push({ node: nodeName(node), daemonSet, causes });
    }
  }
  return gaps;
}

/** The name of a node, as EC2 makes them from addresses. */
export function nodeName(node: number): string {
  return `ip-${addressOf(node).join('-')}.eu-west-1.compute.internal`;
}

/** The IPv4 address of a node. */
export function addressOf(node: number): number[] {
  return [10, 64 + (node >>> 16), (node >>> 8) & 255, node & 255];
}

/** Hexadecimal digits that depend on nothing but `text`: at most 64. */
export function digits(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

function rankOf(node: number): number {
  return Number.parseInt(digits(`rank ${node}`, 12), 16);
}
