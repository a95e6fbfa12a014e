/** Ports of what others say of nodes, besides the Node object itself. Part of ports.ts. */

import type { KubernetesEvent } from './kubernetes/objects.ts';

/** The node's Lease in kube-node-lease. `renewedAt` is epoch ms, by the clock of the node. */
export type LeaseReading =
  | { kind: 'read'; renewedAt: number }
  | { kind: 'absent' }
  | { kind: 'unread'; reason: string };

/** A node in the hands of another remediator, and what says so. */
export interface Remediation {
  node: string;
  by: string;
}

/** What EC2's status checks say of one instance. */
export type InstanceReading =
  | { kind: 'ok' }
  /** At least one check fails; `since` is epoch ms of the earliest, where EC2 tells. */
  | { kind: 'impaired'; checks: string[]; since?: number }
  /** `initializing`, `insufficient-data` or what else is no verdict. */
  | { kind: 'undecided'; status: string }
  | { kind: 'not-running'; state: string }
  | { kind: 'absent' }
  | { kind: 'unread'; reason: string };

/** EC2's view of instances. Never throws: what could not be read is `unread`, with the reason. */
export interface InstanceStatuses {
  /** One reading for each id. */
  statusOf(instanceIds: readonly string[]): Promise<ReadonlyMap<string, InstanceReading>>;
}

/** Whether EKS itself repairs the nodes of a managed node group. */
export interface NodeGroupRepairs {
  /** @throws NodegapError when EKS does not tell. */
  repairOf(cluster: string, nodeGroup: string): Promise<'on' | 'off'>;
}

/**
 * Events about those of the objects of a kind in a namespace, without the ones that only say that a
 * pod gets on. For many objects: the API server goes through as many events for each one alone.
 */
export type ListEventsAbout = (
  kind: 'Pod' | 'DaemonSet',
  namespace: string,
  uids: ReadonlySet<string>,
) => Promise<KubernetesEvent[]>;
