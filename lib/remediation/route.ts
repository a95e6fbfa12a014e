/**
 * What one event means. An event is a hint: it starts an attempt only when the scan or a person
 * asked for one, and every attempt reads its facts anew. Other events make a scan run at once, or
 * keep nodegap off an instance that is going away.
 */
import { parseTime } from '../clock.ts';
import type { PersonRequest } from '../safety/episode-items.ts';
import * as z from '../zod.ts';
import { admissionWanted, conditionTaintsDue, gapFound, nodeRequested } from './bus-events.ts';

export { admissionWanted, conditionTaintsDue, gapFound, nodeRequested } from './bus-events.ts';

export interface AttemptRoute {
  kind: 'attempt';
  cluster: string;
  node: string;
  nodeUid: string;
  byPerson: boolean;
  /** Who asked for it and why, where the event says so. */
  request?: PersonRequest;
  /** Why the node has not proved itself by its deadline, of one that admit-nodes hands over. */
  overdue?: string;
}

export type Route =
  | AttemptRoute
  | { kind: 'leaving'; instanceId: string; reason: string }
  /** Without a cluster: all of them. */
  | { kind: 'rescan'; cluster?: string }
  /** A scan saw a startup taint. Without a cluster: an instance was launched, whosever it is. */
  | { kind: 'admission'; cluster?: string }
  /** A scan saw a condition, or a taint for one, that may be due. */
  | { kind: 'condition-taints'; cluster: string }
  | { kind: 'drop'; why: string };

/** An EventBridge event as SQS carries it. */
export const busEventSchema = z.object({
  id: z.string(),
  source: z.string(),
  'detail-type': z.string(),
  time: z.string(),
  detail: z.record(z.string(), z.unknown()),
});
export type IncomingEvent = z.infer<typeof busEventSchema>;

const text = z.string().check(z.minLength(1));
/** What an attempt keeps of why it was asked for. */
const longestOverdue = 1_000;
const nodeDetail = z.object({
  cluster: text,
  node: text,
  nodeUid: text,
});
const overdueDetail = z.object({ overdue: text });
const requestDetail = z.object({ by: text, reason: z._default(z.string(), '') });
const instanceDetail = z.object({ 'instance-id': text, state: z.optional(z.string()) });
const lifecycleDetail = z.object({
  EC2InstanceId: text,
  Destination: z.optional(z.string()),
});
/** The reference pages do not promise the field, so without it every cluster is looked at. */
const addonDetail = z.object({ clusterName: z.optional(text) });
const clusterDetail = z.object({ cluster: text });

/** Older facts say nothing of now; the next scan knows better. */
const staleAfterMs = 15 * 60_000;

/** Decides what to do about an event. `now` is epoch ms. */
export function routeOf(event: IncomingEvent, now: number): Route {
  const leaving = leavingRoute(event);
  if (leaving !== undefined) return leaving;
  const at = parseTime(event.time);
  if (at === undefined || now - at > staleAfterMs) {
    return { kind: 'drop', why: `stale: from ${event.time}` };
  }
  const { detail } = event;
  if (event.source === 'nodegap') return ownRoute(event['detail-type'], detail);
  switch (`${event.source}/${event['detail-type']}`) {
    case 'aws.eks/EKS Addon Health Degraded':
    case 'aws.eks/EKS Addon Health Restored': {
      const parsed = addonDetail.safeParse(detail);
      if (!parsed.success) return broken();
      const { clusterName: cluster } = parsed.data;
      return { kind: 'rescan', ...(cluster === undefined ? {} : { cluster }) };
    }
    // What it says was checked above: the instance runs, and it may bear a startup taint.
    case 'aws.ec2/EC2 Instance State-change Notification':
      return { kind: 'admission' };
    case 'nodegap.forwarder/Node Unhealthy': {
      const parsed = clusterDetail.safeParse(detail);
      return parsed.success ? { kind: 'rescan', cluster: parsed.data.cluster } : broken();
    }
    case 'aws.health/AWS Health Event':
    case 'aws.ec2/EC2 Instance Rebalance Recommendation':
      return { kind: 'rescan' };
    default:
      return { kind: 'drop', why: `nobody asked for ${event.source} ${event['detail-type']}` };
  }
}

/** What an event of nodegap's own asks for. */
export function ownRoute(detailType: string, detail: Record<string, unknown>): Route {
  switch (detailType) {
    case gapFound:
      return found(detail);
    case admissionWanted: {
      const parsed = clusterDetail.safeParse(detail);
      return parsed.success ? { kind: 'admission', cluster: parsed.data.cluster } : broken();
    }
    case conditionTaintsDue: {
      const parsed = clusterDetail.safeParse(detail);
      return parsed.success ? { kind: 'condition-taints', cluster: parsed.data.cluster } : broken();
    }
    case nodeRequested:
      return requested(detail);
    default:
      return { kind: 'drop', why: `nobody asked for nodegap ${detailType}` };
  }
}

function attempt(detail: Record<string, unknown>, byPerson: boolean): Route {
  const parsed = nodeDetail.safeParse(detail);
  return parsed.success ? { kind: 'attempt', ...parsed.data, byPerson } : broken();
}

function found(detail: Record<string, unknown>): Route {
  const route = attempt(detail, false);
  const parsed = overdueDetail.safeParse(detail);
  return route.kind === 'attempt' && parsed.success
    ? { ...route, overdue: parsed.data.overdue.slice(0, longestOverdue) }
    : route;
}

function requested(detail: Record<string, unknown>): Route {
  const route = attempt(detail, true);
  const request = requestDetail.safeParse(detail);
  return route.kind === 'attempt' && request.success ? { ...route, request: request.data } : route;
}

function broken(): Route {
  return { kind: 'drop', why: 'its detail is not what this event promises' };
}

/** Instances going away are worth knowing also when the event is late. */
function leavingRoute(event: IncomingEvent): Route | undefined {
  const { detail } = event;
  switch (`${event.source}/${event['detail-type']}`) {
    case 'aws.ec2/EC2 Instance State-change Notification': {
      const parsed = instanceDetail.safeParse(detail);
      if (!parsed.success) return broken();
      const { state = 'unknown' } = parsed.data;
      if (state === 'running') return undefined;
      return ['stopping', 'stopped', 'shutting-down', 'terminated'].includes(state)
        ? leave(parsed.data['instance-id'], `EC2 says ${state}`)
        : { kind: 'drop', why: `instance is ${state}` };
    }
    case 'aws.ec2/EC2 Spot Instance Interruption Warning': {
      const parsed = instanceDetail.safeParse(detail);
      return parsed.success ? leave(parsed.data['instance-id'], 'Spot interruption') : broken();
    }
    case 'aws.autoscaling/EC2 Instance-terminate Lifecycle Action': {
      const parsed = lifecycleDetail.safeParse(detail);
      if (!parsed.success) return broken();
      return parsed.data.Destination === 'WarmPool'
        ? { kind: 'drop', why: 'goes back to the warm pool' }
        : leave(parsed.data.EC2InstanceId, 'Auto Scaling terminates it');
    }
    default:
      return undefined;
  }
}

function leave(instanceId: string, reason: string): Route {
  return { kind: 'leaving', instanceId, reason };
}
