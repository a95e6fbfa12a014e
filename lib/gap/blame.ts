/**
 * Who would have to change for a gap to close (docs/causes.md, "Blame").
 *
 * Replacing a node cures only what is the node's fault, so the node is blamed last and on evidence:
 * for causes that a changed ConfigMap, credential or image tag can bring about, a witness is asked
 * for, a pod of the same revision that was made after this gap began and has stayed Ready elsewhere.
 */
import { blameMissing } from './blame-missing.ts';
import { blameOnRevision, undoOf } from './blame-revision.ts';
import {
  type BlamedGap,
  type BlameVerdict,
  cluster,
  counted,
  daemonset,
  isMany,
  node,
  type Share,
  unclear,
  ZONE_NODES,
  ZONE_SHARE,
  ZONE_SHARE_ELSEWHERE,
  zoneFails,
} from './blame-verdict.ts';
import {
  blameByWitness,
  needsWitness,
  nothingToCompare,
  peersText,
  witnessOf,
} from './blame-witness.ts';
import type { Peers } from './peers.ts';
import { count } from './words.ts';

export type { BlamedGap, BlameVerdict } from './blame-verdict.ts';

/** NotReady nodes from which on the cluster is at fault and not each node. */
const CLUSTER_NODES = 3;
const CLUSTER_SHARE = 0.5;

/** Decides the blame of one gap by how the other nodes of its DaemonSet fare. */
export function blameOf(gap: BlamedGap, peers: Peers): BlameVerdict {
  return (
    // What is not understood is still the update's doing when that is stalled.
    (gap.finding.cause === 'unknown' ? blameOnRevision(gap, peers) : undefined) ??
    blameByCause(gap) ??
    withoutPeers(gap, peers) ??
    blameOnRevision(gap, peers) ??
    blameOnZone(gap, peers) ??
    blameByPeers(gap, peers)
  );
}

/** Of a DaemonSet that a quick read did not read in full, only what a node says of itself counts. */
function withoutPeers({ finding }: BlamedGap, peers: Peers): BlameVerdict | undefined {
  if (peers.uncompared === 0 || finding.cause === 'node-not-ready') return undefined;
  return unclear('its pods on other nodes were not read', finding.evidence);
}

/** Causes whose blame does not depend on any other node: it rests on what the cause rests on. */
function blameByCause({ finding }: BlamedGap): BlameVerdict | undefined {
  const { cause, hint, evidence } = finding;
  if (hint === 'preempted') {
    return daemonset('its priority let another pod take its place', evidence);
  }
  if (hint === 'refused') {
    return unclear(
      'the kubelet refused or ended the pod for another reason than pressure on the node, which another node may do as well',
      evidence,
    );
  }
  if (hint === 'template' || cause === 'config-error' || cause === 'create-blocked') {
    return daemonset(
      'the fault lies in the template or in what it names, whatever the node',
      evidence,
    );
  }
  switch (cause) {
    case 'rollout':
      return daemonset('its update takes pods away and brings new ones', evidence);
    case 'starting':
      return unclear('it is younger than its grace, so nothing is proved yet', evidence);
    case 'untolerated-taint':
      return unclear(
        'whoever set the taint has to remove it, or the DaemonSet to tolerate it',
        evidence,
      );
    case 'unknown':
      return unclear('the cause is not understood', evidence);
    case 'terminating':
      return hint === 'stuck'
        ? undefined
        : unclear(
            'the deletion may still end, or something other than the node holds it up',
            evidence,
          );
    default:
      return undefined;
  }
}

function blameOnZone({ zone }: BlamedGap, peers: Peers): BlameVerdict | undefined {
  const shares = zone === undefined ? undefined : peers.zoneShares(zone);
  if (shares === undefined || !zoneFails(shares)) return undefined;
  const { inside, outside } = shares;
  const field = 'nodes with a gap past its grace';
  return {
    blame: 'zone',
    reason: `${shareText(inside)} in zone ${zone} have a gap, and ${shareText(outside)} elsewhere`,
    evidence: [
      {
        object: `zone ${zone}`,
        field,
        value: shareText(inside),
        wouldChange: `fewer than ${Math.max(ZONE_NODES, Math.ceil(ZONE_SHARE * inside.nodes))} of them have one, or more than ${count(Math.floor(ZONE_SHARE_ELSEWHERE * outside.nodes), 'node')} elsewhere`,
      },
      { object: 'other zones', field, value: shareText(outside) },
    ],
  };
}

function blameByPeers(gap: BlamedGap, peers: Peers): BlameVerdict {
  const { cause, evidence } = gap.finding;
  if (cause === 'node-not-ready') return blameNotReady(gap, peers);
  if (cause === 'missing') return blameMissing(gap, peers);
  const alike = failsAlike(gap, peers);
  if (alike !== undefined) return alike;
  if (cause === 'terminating') {
    return peers.healthy > 0
      ? node(`the kubelet does not finish the deletion, and ${peersText(peers.healthy)} healthy`, [
          ...evidence,
          counted(gap, 'nodes where its pod stays Ready', String(peers.healthy)),
        ])
      : unclear('no other node runs it, so there is nothing to compare with', evidence);
  }
  return needsWitness(gap, peers) ? blameByWitness(gap, peers) : blameByRevision(gap, peers);
}

/**
 * Failures of the same kind on many nodes. Nodes on another revision that are well say nothing about
 * this one. When this one is proved to work, failures of a revision that works nowhere are that
 * revision's own.
 */
function failsAlike(gap: BlamedGap, peers: Peers): BlameVerdict | undefined {
  const { cause } = gap.finding;
  const proved = needsWitness(gap, peers)
    ? witnessOf(gap, peers) !== undefined
    : peers.healthyOf(gap.revision) > 0;
  const ofOthers = peers
    .revisions()
    .filter(({ name, healthy }) => proved && name !== gap.revision && healthy === 0)
    .reduce((sum, view) => sum + view.withCause(cause), 0);
  const alike = peers.withCause(cause) - ofOthers;
  // Nodes that are not Ready say nothing about the pods on them.
  const comparable =
    peers.judged - peers.notReadyNodes - peers.coveredByOthers(gap.revision) - ofOthers;
  if (!isMany(alike, comparable)) return undefined;
  const undo = undoOf(gap, peers);
  const images = [...peers.imagesWithCause(cause)].map(([image, nodes]) =>
    counted(
      gap,
      'spec.containers[].image of the failing pods',
      `${image} on ${count(nodes, 'node')}`,
    ),
  );
  return daemonset(`its pods fail with ${cause} on ${alike} of ${count(comparable, 'node')}`, [
    counted(
      gap,
      `nodes with cause ${cause}`,
      `${alike} of ${comparable}`,
      undo === undefined
        ? 'what its pods start with (image, ConfigMap, Secret) is put right; no earlier revision is seen to go back to'
        : `what its pods start with is put right; or ${undo}`,
    ),
    ...images,
  ]);
}

function blameNotReady(gap: BlamedGap, peers: Peers): BlameVerdict {
  const { notReadyNodes, judged } = peers;
  if (notReadyNodes >= CLUSTER_NODES && notReadyNodes >= CLUSTER_SHARE * judged) {
    return cluster(`${notReadyNodes} of ${count(judged, 'node')} are not Ready at once`, [
      {
        object: 'nodes of the DaemonSet',
        field: 'status.conditions[Ready].status',
        value: `${notReadyNodes} of ${judged} not True`,
        wouldChange: `fewer than ${Math.max(CLUSTER_NODES, Math.ceil(CLUSTER_SHARE * judged))} are not Ready`,
      },
    ]);
  }
  return node(
    gap.finding.evidence.some(({ field }) => field.startsWith('spec.taints'))
      ? `a condition of node ${gap.node} itself keeps the pod out`
      : `node ${gap.node} itself is not Ready`,
    gap.finding.evidence,
  );
}

function blameByRevision(gap: BlamedGap, peers: Peers): BlameVerdict {
  const healthy = peers.healthyOf(gap.revision);
  if (healthy === 0) {
    return nothingToCompare(gap, 'a pod of the revision stays Ready on another node');
  }
  return node(`${peersText(healthy)} healthy on the same revision ${gap.revision}`, [
    counted(
      gap,
      'metadata.labels[controller-revision-hash] of its healthy pods',
      `${gap.revision} on ${count(healthy, 'node')}`,
      'half of the nodes fail alike',
    ),
  ]);
}

function shareText({ nodes, failing }: Share): string {
  return `${failing} of ${count(nodes, 'node')}`;
}
