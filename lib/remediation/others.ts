/**
 * What others say of nodes with a gap, and what they do about them: read in the same invocation as
 * the gaps, and only where there is a gap that might be acted on.
 */
import type { ClusterConfig } from '../config/model.ts';
import { KubernetesError, messageOf, NodegapError } from '../errors.ts';
import type { ClusterFacts, Fault, OptionalRead } from '../gap/model.ts';
import { eachOf } from '../kubernetes/each-of.ts';
import { messageWithRemedy } from '../kubernetes/errors.ts';
import { conditionOf, type Node } from '../kubernetes/objects.ts';
import type {
  InstanceReading,
  InstanceStatuses,
  LeaseReading,
  NodeGroupRepairs,
  Remediation,
} from '../observation-ports.ts';
import type { ClusterReader } from '../ports.ts';
import { decide } from '../safety/second-observer.ts';
import { claimFinder } from './actionable.ts';
import { type GroupRepair, leftTo, managedNodeGroupOf } from './other-repair.ts';
import { instanceOf } from './replacement.ts';
import { awaitsSecondObserver } from './standing.ts';

/** What is asked outside the cluster; absent where nothing can ask. */
export interface OtherPorts {
  instances?: InstanceStatuses;
  nodeGroupRepairs?: NodeGroupRepairs;
}

/** What is to be made of a node that is not Ready, once all else speaks for acting on it. */
export type NotReadyVerdict =
  | { kind: 'agreed'; message: string }
  /** Somebody else repairs it, or the second observer disagrees. */
  | { kind: 'left'; code: string; message: string }
  /** It cannot be told. */
  | { kind: 'unknown'; code: 'observer-unknown'; message: string };

/** By the uid of the node. */
export type NotReadyVerdicts = ReadonlyMap<string, NotReadyVerdict>;

export interface Others {
  notReady: NotReadyVerdicts;
  /** Nodes in the hands of medik8s. */
  remediations: OptionalRead<Remediation>;
}

/** What says that medik8s remediates the node. */
export function remediationOf(node: Node, others: Others | undefined): string | undefined {
  if (others === undefined || !others.remediations.ok) return undefined;
  const { name } = node.metadata;
  return others.remediations.items.find((remediation) => remediation.node === name)?.by;
}

/** Why it cannot be told whether somebody else is at work on the nodes. */
export function doubtAboutOthers(
  others: Others | undefined,
): { code: string; message: string } | undefined {
  return others === undefined || others.remediations.ok
    ? undefined
    : { code: 'remediations-unreadable', message: others.remediations.reason };
}

/** So many nodes that are not Ready are asked about in one go: one call of EC2. */
const maxAsked = 100;

/** Asks about the nodes of `gaps`; those of other nodes only serve to compare with. */
export async function readOthers(
  ports: OtherPorts,
  reader: ClusterReader,
  read: {
    facts: ClusterFacts;
    cluster: ClusterConfig | undefined;
    gaps: readonly Fault[];
    concerns(nodeUid: string): boolean;
    now: number;
  },
): Promise<Others> {
  const { facts, cluster, gaps, concerns, now } = read;
  const concerned = gaps.filter(
    (gap) => gap.required && gap.ceiling !== 'alert' && concerns(gap.nodeUid),
  );
  if (cluster === undefined || concerned.length === 0) {
    return { notReady: new Map(), remediations: { ok: true, items: [] } };
  }
  const waiting = new Set(
    concerned.filter((gap) => awaitsSecondObserver(gap, gaps)).map(({ nodeUid }) => nodeUid),
  );
  const nodes = facts.nodes.filter(({ metadata }) => waiting.has(metadata.uid));
  const [notReady, remediations] = await Promise.all([
    verdictsOn(ports, reader, { facts, cluster, nodes: nodes.slice(0, maxAsked), now }),
    remediationsIn(reader),
  ]);
  return { notReady, remediations };
}

async function remediationsIn(reader: ClusterReader): Promise<OptionalRead<Remediation>> {
  try {
    return { ok: true, items: (await reader.listRemediations?.()) ?? [] };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return {
      ok: false,
      reason: `NodeHealthChecks could not be read: ${messageWithRemedy(error)}`,
    };
  }
}

async function verdictsOn(
  ports: OtherPorts,
  reader: ClusterReader,
  read: { facts: ClusterFacts; cluster: ClusterConfig; nodes: readonly Node[]; now: number },
): Promise<NotReadyVerdicts> {
  const { facts, cluster, nodes, now } = read;
  const claimFor = claimFinder(facts);
  const repairs = await groupRepairs(
    ports.nodeGroupRepairs,
    cluster.name,
    nodes.flatMap((node) => managedNodeGroupOf(node, claimFor(node)) ?? []),
  );
  const verdicts = new Map<string, NotReadyVerdict>();
  const asked: Node[] = [];
  for (const node of nodes) {
    const claim = claimFor(node);
    const repair = repairs.get(managedNodeGroupOf(node, claim) ?? '');
    const left = leftTo(node, claim, cluster, repair);
    if (left === undefined) asked.push(node);
    else verdicts.set(node.metadata.uid, { kind: 'left', ...left });
  }
  const [instances, leases] = await Promise.all([
    instanceReadings(ports.instances, asked),
    leaseReadings(reader, asked),
  ]);
  for (const node of asked) {
    const { name, uid } = node.metadata;
    const opinion = decide(
      {
        node: name,
        ready: conditionOf(node.status.conditions, 'Ready')?.status ?? 'missing',
        instance: instances.get(uid) ?? { kind: 'absent' },
        lease: leases.get(uid) ?? { kind: 'absent' },
      },
      now,
    );
    verdicts.set(uid, verdictOf(opinion));
  }
  return verdicts;
}

function verdictOf({ kind, message }: ReturnType<typeof decide>): NotReadyVerdict {
  switch (kind) {
    case 'agrees':
      return { kind: 'agreed', message };
    case 'disagrees':
      return { kind: 'left', code: 'observer-disagrees', message };
    case 'unknown':
      return { kind: 'unknown', code: 'observer-unknown', message };
  }
}

async function groupRepairs(
  port: NodeGroupRepairs | undefined,
  cluster: string,
  groups: readonly string[],
): Promise<Map<string, GroupRepair>> {
  const found = new Map<string, GroupRepair>();
  if (port === undefined) return found;
  for (const group of new Set(groups)) {
    try {
      found.set(group, { kind: await port.repairOf(cluster, group) });
    } catch (error) {
      if (!(error instanceof NodegapError)) throw error;
      found.set(group, { kind: 'unread', reason: messageOf(error) });
    }
  }
  return found;
}

/** By the uid of the node. */
async function instanceReadings(
  port: InstanceStatuses | undefined,
  nodes: readonly Node[],
): Promise<Map<string, InstanceReading>> {
  const ids = new Map<string, string>();
  for (const { metadata, spec } of nodes) {
    const id = instanceOf(spec.providerID)?.instanceId;
    if (id !== undefined) ids.set(metadata.uid, id);
  }
  const statuses = ids.size === 0 ? undefined : await port?.statusOf([...ids.values()]);
  const reason = port === undefined ? 'nothing here asks EC2' : 'the node names no EC2 instance';
  return new Map(
    nodes.map(({ metadata: { uid } }) => [
      uid,
      statuses?.get(ids.get(uid) ?? '') ?? { kind: 'unread', reason },
    ]),
  );
}

async function leaseReadings(
  reader: ClusterReader,
  nodes: readonly Node[],
): Promise<Map<string, LeaseReading>> {
  const found = new Map<string, LeaseReading>();
  await eachOf(nodes, async ({ metadata: { name, uid } }) => {
    found.set(uid, await leaseOf(reader, name));
  });
  return found;
}

async function leaseOf(reader: ClusterReader, node: string): Promise<LeaseReading> {
  if (reader.getNodeLease === undefined) return { kind: 'unread', reason: 'nothing here reads it' };
  try {
    return await reader.getNodeLease(node);
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { kind: 'unread', reason: messageWithRemedy(error) };
  }
}
