/**
 * Who would have to change for a gap to close (docs/causes.md, "Blame").
 *
 * Replacing a node cures only what is the node's fault, so the node is blamed last and on evidence:
 * for causes that a changed ConfigMap, credential or image tag can bring about, a witness is asked
 * for, a pod of the same revision that became Ready elsewhere after this gap began.
 */
import { isoTime } from '../clock.ts';
import type { Finding } from './finding.ts';
import type { Blame, Cause } from './model.ts';
import type { Peers, Share } from './peers.ts';
import { count } from './words.ts';

export interface BlameVerdict {
  blame: Blame;
  reason: string;
}

/** What of a gap its blame rests on. */
export interface BlamedGap {
  finding: Finding;
  node: string;
  zone: string | undefined;
  revision: string | undefined;
  /** Epoch ms. */
  since: number;
  /** A record tells since when it is there; otherwise `since` is an estimate. */
  recorded: boolean;
}

/** A DaemonSet fails "on many of its nodes": at least so many, and at least half of them. */
const MANY_NODES = 2;
const MANY_SHARE = 0.5;

/** A zone fails: so many nodes, half of its nodes, and hardly any elsewhere. */
const ZONE_NODES = 3;
const ZONE_SHARE = 0.5;
const ZONE_SHARE_ELSEWHERE = 0.2;

/** NotReady nodes from which on the cluster is at fault and not each node. */
const CLUSTER_NODES = 3;
const CLUSTER_SHARE = 0.5;

/** Causes that a template revision can bring with it. */
const revisionCauses: readonly Cause[] = [
  'image-pull',
  'crash-loop',
  'oom-killed',
  'not-ready',
  'volume',
  'unschedulable-resources',
  'unschedulable-ports',
];

/** Causes for which older pods prove nothing. */
const witnessCauses: readonly Cause[] = ['image-pull', 'crash-loop', 'not-ready', 'oom-killed'];

/** Decides the blame of one gap by how the other nodes of its DaemonSet fare. */
export function blameOf(gap: BlamedGap, peers: Peers): BlameVerdict {
  return (
    blameByCause(gap) ??
    blameOnRevision(gap, peers) ??
    blameOnZone(gap, peers) ??
    blameByPeers(gap, peers)
  );
}

/** Causes whose blame does not depend on any other node. */
function blameByCause({ finding }: BlamedGap): BlameVerdict | undefined {
  const { cause, hint } = finding;
  if (hint === 'preempted') {
    return daemonset('its priority let another pod take its place');
  }
  if (hint === 'template' || cause === 'config-error' || cause === 'create-blocked') {
    return daemonset('the fault lies in the template or in what it names, whatever the node');
  }
  switch (cause) {
    case 'rollout':
      return daemonset('its update takes pods away and brings new ones');
    case 'starting':
      return unclear('it is younger than its grace, so nothing is proved yet');
    case 'untolerated-taint':
      return unclear('whoever set the taint has to remove it, or the DaemonSet to tolerate it');
    case 'unknown':
      return unclear('the cause is not understood');
    case 'terminating':
      return hint === 'stuck'
        ? undefined
        : unclear('the deletion may still end, or something other than the node holds it up');
    default:
      return undefined;
  }
}

function blameOnRevision({ finding, revision }: BlamedGap, peers: Peers): BlameVerdict | undefined {
  if (revision === undefined || !revisionCauses.includes(finding.cause)) return undefined;
  if (peers.healthyOf(revision) > 0 || peers.healthy === 0) return undefined;
  return daemonset(
    `no node runs revision ${revision} happily, while ${count(peers.healthy, 'node')} on another revision ${peers.healthy === 1 ? 'is' : 'are'} healthy`,
  );
}

function blameOnZone({ zone }: BlamedGap, peers: Peers): BlameVerdict | undefined {
  const shares = zone === undefined ? undefined : peers.zoneShares(zone);
  if (shares === undefined) return undefined;
  const { inside, outside } = shares;
  const down =
    inside.failing >= ZONE_NODES &&
    inside.failing >= ZONE_SHARE * inside.nodes &&
    outside.failing <= ZONE_SHARE_ELSEWHERE * outside.nodes;
  if (!down) return undefined;
  return {
    blame: 'zone',
    reason: `${shareText(inside)} in zone ${zone} have a gap, and ${shareText(outside)} elsewhere`,
  };
}

function blameByPeers(gap: BlamedGap, peers: Peers): BlameVerdict {
  switch (gap.finding.cause) {
    case 'node-not-ready':
      return blameNotReady(gap, peers);
    case 'missing':
      return blameMissing(gap, peers);
    default:
      break;
  }
  const { cause } = gap.finding;
  const alike = peers.withCause(cause);
  // Nodes that are not Ready say nothing about the pods on them.
  const comparable = peers.judged - peers.notReadyNodes;
  if (alike >= MANY_NODES && alike >= MANY_SHARE * comparable) {
    return daemonset(`its pods fail with ${cause} on ${alike} of ${count(comparable, 'node')}`);
  }
  if (cause === 'terminating') {
    return peers.healthy > 0
      ? node(`the kubelet does not finish the deletion, and ${peersText(peers.healthy)} healthy`)
      : unclear('no other node runs it, so there is nothing to compare with');
  }
  return witnessCauses.includes(cause) ? blameByWitness(gap, peers) : blameByRevision(gap, peers);
}

function blameNotReady(gap: BlamedGap, peers: Peers): BlameVerdict {
  const { notReadyNodes, judged } = peers;
  if (notReadyNodes >= CLUSTER_NODES && notReadyNodes >= CLUSTER_SHARE * judged) {
    return {
      blame: 'cluster',
      reason: `${notReadyNodes} of ${count(judged, 'node')} are not Ready at once`,
    };
  }
  return node(`node ${gap.node} itself is not Ready`);
}

/** Only the controller makes pods: when it made none for anyone, the node proves nothing. */
function blameMissing(gap: BlamedGap, peers: Peers): BlameVerdict {
  const { latestPod, latestReadyPod } = peers;
  const began = isoTime(gap.since);
  const absent = peers.withCause('missing');
  if (absent >= MANY_NODES && absent >= MANY_SHARE * peers.judged) {
    return {
      blame: 'cluster',
      reason: `${absent} of ${count(peers.judged, 'node')} have no pod of it: the controller is at fault`,
    };
  }
  if (latestPod === undefined || latestPod.at <= gap.since) {
    return {
      blame: 'cluster',
      reason: `no node got a pod of it since the gap began at ${began}: the controller is at fault`,
    };
  }
  if (latestReadyPod === undefined || latestReadyPod.at <= gap.since) {
    return unclear(
      `node ${latestPod.node} got a pod of it since the gap began at ${began}, but none that is Ready`,
    );
  }
  if (!gap.recorded) {
    return unclear(
      `other nodes got pods of it since ${began}, but without records of earlier scans it is not known when this one went missing`,
    );
  }
  return node(
    `node ${latestReadyPod.node} got a pod of it at ${isoTime(latestReadyPod.at)}, after this gap began at ${began}, and it is Ready`,
  );
}

function blameByWitness(gap: BlamedGap, peers: Peers): BlameVerdict {
  const began = isoTime(gap.since);
  const healthy = peers.healthyOf(gap.revision);
  const witness = peers.latestReadyOf(gap.revision);
  if (witness !== undefined && witness.at > gap.since) {
    return node(
      `revision ${gap.revision} became Ready on ${witness.node} at ${isoTime(witness.at)}, after this gap began at ${began}`,
    );
  }
  return unclear(
    healthy === 0
      ? `no other node runs ${revisionText(gap.revision)} happily, so there is nothing to compare with`
      : `${peersText(healthy)} healthy on revision ${gap.revision}, but none became Ready after this gap began at ${began}`,
  );
}

function blameByRevision(gap: BlamedGap, peers: Peers): BlameVerdict {
  const healthy = peers.healthyOf(gap.revision);
  return healthy === 0
    ? unclear(
        `no other node runs ${revisionText(gap.revision)} happily, so there is nothing to compare with`,
      )
    : node(`${peersText(healthy)} healthy on the same revision ${gap.revision}`);
}

function peersText(healthy: number): string {
  return `${count(healthy, 'other node')} ${healthy === 1 ? 'is' : 'are'}`;
}

function shareText({ nodes, failing }: Share): string {
  return `${failing} of ${count(nodes, 'node')}`;
}

function revisionText(revision: string | undefined): string {
  return revision === undefined ? 'its revision (the pod names none)' : `revision ${revision}`;
}

function node(reason: string): BlameVerdict {
  return { blame: 'node', reason };
}

function daemonset(reason: string): BlameVerdict {
  return { blame: 'daemonset', reason };
}

function unclear(reason: string): BlameVerdict {
  return { blame: 'unclear', reason };
}
