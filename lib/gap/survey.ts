/**
 * The facts of a cluster, indexed once for the judgement of many pairs: nodes with everything about
 * them that does not depend on a DaemonSet, pods by owner and target node, events by subject.
 */
import type { Node, NodeClaim, Pod } from '../kubernetes/objects.ts';
import { type SortedTaints, sortTaints } from './eligibility.ts';
import type { ClusterFacts, CoveredNodes, DetectionPolicy, GapRecord } from './model.ts';
import { type NodeHealth, nodeHealthOf } from './node-health.ts';
import { type LeftOut, leftOut, poolOf, zoneOf } from './node-kinds.ts';
import { type EventIndex, indexEvents } from './pod-events.ts';
import { daemonSetUidOf, targetNodeOf } from './pod-target.ts';
import { pairKey } from './records.ts';
import type { History } from './timing.ts';

export interface NodeView {
  node: Node;
  leftOut: LeftOut | undefined;
  health: NodeHealth;
  taints: SortedTaints;
  pool: string | undefined;
  zone: string | undefined;
}

export interface Survey {
  facts: ClusterFacts;
  policy: DetectionPolicy;
  now: number;
  nodes: NodeView[];
  /** Undefined when events could not be read. */
  events: EventIndex | undefined;
  /** Pods that the DaemonSet of that uid owns: for each node in the order of `nodes`, its own. */
  podsOf(daemonSetUid: string): PodsByNode;
  /** Nodes on which a quick read found the DaemonSet surely healthy; none after a full read. */
  coveredBy(daemonSetUid: string): CoveredNodes;
  historyOf(nodeUid: string, daemonSet: string): History;
}

/** Sparse: a node without a pod has no entry. Pods for nodes that are not there are left out. */
export type PodsByNode = readonly (readonly Pod[] | undefined)[];

const noNodes: CoveredNodes = new Set();

/** Indexes `facts` for judgements at `now` (epoch ms). */
export function surveyOf(
  facts: ClusterFacts,
  policy: DetectionPolicy,
  now: number,
  records: ReadonlyMap<string, GapRecord> | undefined,
): Survey {
  const startupTaints = new Set(policy.startupTaints);
  const claims = claimsByProviderId(facts.nodeClaims.ok ? facts.nodeClaims.items : []);
  const pods = indexPods(facts.nodes, facts.pods);
  return {
    facts,
    policy,
    now,
    nodes: facts.nodes.map((node) => ({
      node,
      leftOut: leftOut(node, claims.get(node.spec.providerID ?? '')),
      health: nodeHealthOf(node, now),
      taints: sortTaints(node, startupTaints),
      pool: poolOf(node),
      zone: zoneOf(node),
    })),
    events: facts.events.ok ? indexEvents(facts.events.items) : undefined,
    podsOf: (uid) => pods.get(uid) ?? [],
    coveredBy: (uid) => {
      const covered = facts.quick === undefined ? noNodes : facts.quick.get(uid);
      // Without its pods every pair would seem to be a gap.
      if (covered === undefined) throw new Error(`the pods of DaemonSet ${uid} were not read`);
      return covered;
    },
    historyOf: (nodeUid, daemonSet) => {
      if (records === undefined) return { kind: 'none' };
      const record = records.get(pairKey(nodeUid, daemonSet));
      return record === undefined ? { kind: 'first-sighting' } : { kind: 'record', record };
    },
  };
}

function indexPods(nodes: readonly Node[], pods: readonly Pod[]): Map<string, Pod[][]> {
  const nodeIndex = new Map(nodes.map(({ metadata }, index) => [metadata.name, index]));
  const byOwner = new Map<string, Pod[][]>();
  for (const pod of pods) {
    const owner = daemonSetUidOf(pod);
    const target = owner === undefined ? undefined : targetNodeOf(pod);
    const index = target === undefined ? undefined : nodeIndex.get(target);
    if (owner === undefined || index === undefined) continue;
    let byNode = byOwner.get(owner);
    if (byNode === undefined) {
      byNode = new Array<Pod[]>(nodes.length);
      byOwner.set(owner, byNode);
    }
    const list = byNode[index];
    if (list === undefined) byNode[index] = [pod];
    else list.push(pod);
  }
  return byOwner;
}

/** Two claims with one provider id are a contradiction: neither is believed. */
function claimsByProviderId(claims: readonly NodeClaim[]): Map<string, NodeClaim> {
  const byId = new Map<string, NodeClaim>();
  const doubtful = new Set<string>();
  for (const claim of claims) {
    const id = claim.status.providerID;
    if (id === undefined || id === '') continue;
    if (byId.has(id)) doubtful.add(id);
    byId.set(id, claim);
  }
  for (const id of doubtful) byId.delete(id);
  return byId;
}
