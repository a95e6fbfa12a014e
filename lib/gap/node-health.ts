/** What a node says of itself, and whether that may be believed. */
import { isoTime, parseTime } from '../clock.ts';
import { conditionOf, type Node } from '../kubernetes/objects.ts';
import { ago } from './words.ts';

export type NodeHealth =
  | { kind: 'ready' }
  | {
      kind: 'not-ready';
      /** `False`, `Unknown`, or `absent` when there is no Ready condition. */
      status: string;
      /** Epoch ms of the transition, where it is known. */
      since: number | undefined;
      message: string;
    }
  | { kind: 'heartbeat-stale'; message: string };

/**
 * A kubelet with nothing new to say still reports every 5 minutes (nodeStatusReportFrequency).
 * Three missed reports on a node that is still called Ready: the report may be a dead node's last.
 */
const STALE_HEARTBEAT_MS = 15 * 60_000;

/** Judges the Ready condition of a node at `now` (epoch ms). */
export function nodeHealthOf(node: Node, now: number): NodeHealth {
  const ready = conditionOf(node.status.conditions, 'Ready');
  if (ready === undefined) {
    return {
      kind: 'not-ready',
      status: 'absent',
      since: parseTime(node.metadata.creationTimestamp),
      message: `node ${node.metadata.name} has no Ready condition`,
    };
  }
  if (ready.status !== 'True') {
    const why = ready.reason === undefined ? '' : ` (${ready.reason})`;
    return {
      kind: 'not-ready',
      status: ready.status,
      since: parseTime(ready.lastTransitionTime),
      message: `node ${node.metadata.name} is not Ready: its Ready condition is ${ready.status}${why}`,
    };
  }
  const heartbeat = parseTime(ready.lastHeartbeatTime);
  if (heartbeat !== undefined && now - heartbeat >= STALE_HEARTBEAT_MS) {
    return {
      kind: 'heartbeat-stale',
      message: `node ${node.metadata.name} last reported at ${isoTime(heartbeat)}, ${ago(now - heartbeat)} ago, and still counts as Ready: its state cannot be believed`,
    };
  }
  return { kind: 'ready' };
}
