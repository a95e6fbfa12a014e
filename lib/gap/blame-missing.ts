/** Blame for a pod that is not there at all. */
import { isoTime } from '../clock.ts';
import {
  type BlamedGap,
  type BlameVerdict,
  cluster,
  counted,
  daemonSetName,
  isMany,
  node,
  unclear,
} from './blame-verdict.ts';
import type { Evidence } from './model.ts';
import type { Peers } from './peers.ts';
import { isUnobserved } from './rollout.ts';
import { ago, count } from './words.ts';

/** A controller that has made no pod for longer than this may have stopped. */
const RECENT_MS = 60 * 60_000;

/**
 * Only the controller makes pods: when it made none for anyone, the node proves nothing, nor while
 * other nodes wait for theirs.
 */
export function blameMissing(gap: BlamedGap, peers: Peers): BlameVerdict {
  const { latestPod, latestReadyPod } = peers;
  const began = isoTime(gap.since);
  const absent = peers.withCause('missing');
  const lag = controllerLag(gap);
  if (isMany(absent, peers.judged)) {
    return cluster(
      `${absent} of ${count(peers.judged, 'node')} have no pod of it: the controller is at fault`,
      [
        counted(
          gap,
          'nodes without a pod of it',
          `${absent} of ${peers.judged}`,
          'the controller makes pods',
        ),
        ...lag,
      ],
    );
  }
  const newest = counted(
    gap,
    'metadata.creationTimestamp of its youngest pod',
    latestPod === undefined ? 'no pod' : `${isoTime(latestPod.at)} on node ${latestPod.node}`,
    `another node gets a pod after ${began}, and it is Ready`,
  );
  if (latestPod === undefined || latestPod.at <= gap.since) {
    return cluster(
      `no node got a pod of it since the gap began at ${began}: the controller is at fault`,
      [newest, ...lag],
    );
  }
  if (latestReadyPod === undefined || latestReadyPod.at <= gap.since) {
    return unclear(
      `node ${latestPod.node} got a pod of it since the gap began at ${began}, but none that is Ready`,
      [newest, ...lag],
    );
  }
  if (!gap.recorded) {
    return unclear(
      `other nodes got pods of it since ${began}, but without records of earlier scans it is not known when this one went missing`,
      [newest, ...lag],
    );
  }
  const waiting = peers.failingWith('missing');
  if (waiting > 1) {
    return unclear(
      `${waiting} of ${count(peers.judged, 'node')} have had no pod of it past their grace: the controller may still be on its way to them, or may have stopped, the last pod that it made is of ${isoTime(latestPod.at)}`,
      [
        counted(
          gap,
          'nodes without a pod of it past their grace',
          `${waiting} of ${peers.judged}`,
          'this is the only one',
        ),
        newest,
        ...lag,
      ],
    );
  }
  const from = gap.since + gap.updateDeadlineMs;
  if (latestReadyPod.at <= from || latestReadyPod.at < gap.now - RECENT_MS) {
    return unclear(
      `the youngest Ready pod of it, on node ${latestReadyPod.node}, was made at ${isoTime(latestReadyPod.at)}, ${ago(latestReadyPod.at - gap.since)} after this gap began and ${ago(gap.now - latestReadyPod.at)} ago: the controller may not have come to this node, or may have stopped since`,
      [
        counted(
          gap,
          'metadata.creationTimestamp of its youngest Ready pod',
          `${isoTime(latestReadyPod.at)} on node ${latestReadyPod.node}`,
          `another node gets a pod after ${isoTime(Math.max(from, gap.now - RECENT_MS))}, and it is Ready`,
        ),
        ...lag,
      ],
    );
  }
  return node(
    `node ${latestReadyPod.node} got a pod of it at ${isoTime(latestReadyPod.at)}, after this gap began at ${began}, and it is Ready`,
    [
      counted(
        gap,
        'metadata.creationTimestamp of its youngest Ready pod',
        `${isoTime(latestReadyPod.at)} on node ${latestReadyPod.node}`,
        'the controller makes a pod for this node too',
      ),
    ],
  );
}

/** A controller that does not act on the newest template is down or far behind. */
function controllerLag({ daemonSet }: BlamedGap): Evidence[] {
  if (!isUnobserved(daemonSet)) return [];
  const { metadata, status } = daemonSet;
  return [
    {
      object: daemonSetName(daemonSet),
      field: 'status.observedGeneration',
      value: `${status.observedGeneration} of ${metadata.generation}`,
      wouldChange: 'the controller catches up',
    },
  ];
}
