/** What a node says of itself, and whether that may be believed. */
import { isoTime, parseTime } from '../clock.ts';
import { conditionOf, type Node } from '../kubernetes/objects.ts';
import type { Evidence } from './model.ts';
import { ago, fieldText } from './words.ts';

/** Reasons for which nothing can be said of a node. */
export const HEARTBEAT_STALE = 'heartbeat-stale';
export const NODE_CONDITIONS_MISSING = 'node-conditions-missing';

export type NodeHealth =
  | { kind: 'ready' }
  | {
      kind: 'not-ready';
      /** `False` or `Unknown`. */
      status: string;
      /** Epoch ms of the transition, where it is known. */
      since: number | undefined;
      message: string;
    }
  /** What it says of itself cannot be believed, or it says nothing. */
  | { kind: 'silent'; reason: string; message: string; evidence: Evidence[] };

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
      kind: 'silent',
      reason: NODE_CONDITIONS_MISSING,
      message: `node ${node.metadata.name} has no Ready condition: nothing says how it is`,
      evidence: [
        readyEvidence(node, 'status', undefined, 'the kubelet or the node controller reports one'),
      ],
    };
  }
  if (ready.status !== 'True') {
    const why = ready.reason === undefined ? '' : ` (${ready.reason})`;
    return {
      kind: 'not-ready',
      status: ready.status,
      since: parseTime(ready.lastTransitionTime),
      message: `node ${node.metadata.name} is not Ready: its Ready condition is ${fieldText(ready.status)}${why}`,
    };
  }
  const heartbeat = parseTime(ready.lastHeartbeatTime);
  if (heartbeat !== undefined && now - heartbeat >= STALE_HEARTBEAT_MS) {
    return {
      kind: 'silent',
      reason: HEARTBEAT_STALE,
      message: `node ${node.metadata.name} last reported at ${isoTime(heartbeat)}, ${ago(now - heartbeat)} ago, and still counts as Ready: its state cannot be believed`,
      evidence: [
        readyEvidence(
          node,
          'lastHeartbeatTime',
          ready.lastHeartbeatTime,
          'the kubelet reports again, or the node controller finds the node not Ready',
        ),
      ],
    };
  }
  return { kind: 'ready' };
}

function readyEvidence(
  node: Node,
  field: string,
  value: string | undefined,
  wouldChange: string,
): Evidence {
  return {
    object: `node ${node.metadata.name}`,
    field: `status.conditions[Ready].${field}`,
    value: fieldText(value),
    wouldChange,
  };
}
