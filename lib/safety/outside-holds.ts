/**
 * What AWS does to a cluster and its zones holds new work back, like a pause: an active ARC zonal
 * shift, an update of the EKS cluster, an update of the managed node group of a node. Read in the
 * invocation that acts (safety rule 2), and only when all else speaks for acting. What cannot be
 * read holds too (safety rule 1), as a doubt: nothing is done and nothing undone for it.
 *
 * A shift of the cluster itself holds all of it, as EKS halts its own node repair then
 * (https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html). Any other shift says that
 * the zone is unwell, and holds the nodes of that zone.
 */
import type { AwsWork, ZonalShift } from '../aws-work.ts';
import { isoTime } from '../clock.ts';
import type { BreakerConfig } from '../config/model.ts';
import { messageOf, NodegapError } from '../errors.ts';
import type { Node } from '../kubernetes/objects.ts';

export type Answer<T> = { ok: true; value: T } | { ok: false; reason: string };

/** What was read of one cluster. */
export interface OutsideFacts {
  shifts: Answer<ZonalShift[]>;
  /** `value` is undefined when it was not asked. */
  cluster: Answer<{ arn: string; status: string } | undefined>;
  /** Status by name of the node group, of those that were asked. */
  nodeGroups: ReadonlyMap<string, Answer<string | undefined>>;
}

/** The part of the cluster that a hold is about, for people. */
export interface OutsideObjection {
  kind: 'hold' | 'unreadable';
  code: 'zonal-shift' | 'eks-cluster-updating' | 'eks-node-group-updating' | 'aws-unreadable';
  message: string;
}

const nodeGroupLabel = 'eks.amazonaws.com/nodegroup';
/** Both are set by the cloud provider on every node in AWS. */
const zoneIdLabel = 'topology.k8s.aws/zone-id';

export function nodeGroupOf(node: Node): string | undefined {
  return node.metadata.labels?.[nodeGroupLabel];
}

/** Asks what concerns these nodes. Nothing is asked for what the configuration ignores. */
export async function readOutside(
  port: AwsWork | undefined,
  cluster: string,
  nodes: readonly Node[],
  policy: Pick<BreakerConfig, 'zonalShifts' | 'eksUpdates'>,
): Promise<OutsideFacts> {
  const needsCluster = policy.zonalShifts === 'hold' || policy.eksUpdates === 'hold';
  if (port === undefined || !needsCluster || nodes.length === 0) return nothingOutside;
  const groups = policy.eksUpdates === 'hold' ? nodes.map(nodeGroupOf) : [];
  const [shifts, status, ...statuses] = await Promise.all([
    policy.zonalShifts === 'hold'
      ? answerOf(() => port.zonalShifts(cluster))
      : nothingOutside.shifts,
    answerOf(() => port.clusterStatus(cluster)),
    ...[...new Set(groups)].flatMap((group) =>
      group === undefined
        ? []
        : [answerOf(() => port.nodeGroupStatus(cluster, group)).then((of) => [group, of] as const)],
    ),
  ]);
  return { shifts, cluster: status, nodeGroups: new Map(statuses) };
}

/** As read where nobody was asked. */
export const nothingOutside: OutsideFacts = {
  shifts: { ok: true, value: [] },
  cluster: { ok: true, value: undefined },
  nodeGroups: new Map(),
};

async function answerOf<T>(ask: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await ask() };
  } catch (error) {
    if (!(error instanceof NodegapError)) throw error;
    return { ok: false, reason: messageOf(error) };
  }
}

/** Decides, purely, whether AWS's work holds back what is to be done to a node. */
export function judgeOutside(
  node: Node,
  facts: OutsideFacts,
  policy: Pick<BreakerConfig, 'zonalShifts' | 'eksUpdates'>,
): OutsideObjection | undefined {
  const group = nodeGroupOf(node);
  const ofGroup = group === undefined ? undefined : facts.nodeGroups.get(group);
  return (
    heldByShift(node, facts) ??
    (policy.eksUpdates === 'hold'
      ? (heldByCluster(facts) ?? heldByNodeGroup(group, ofGroup))
      : undefined) ??
    unreadable([facts.shifts, facts.cluster, ...(ofGroup === undefined ? [] : [ofGroup])])
  );
}

function heldByShift(node: Node, { shifts, cluster }: OutsideFacts): OutsideObjection | undefined {
  if (!shifts.ok) return undefined;
  const zoneId = node.metadata.labels?.[zoneIdLabel];
  const arn = cluster.ok ? cluster.value?.arn : undefined;
  const ofCluster = shifts.value.find(({ resource }) => resource !== undefined && resource === arn);
  if (ofCluster !== undefined) {
    return hold(
      'zonal-shift',
      `cluster: ${shiftText(ofCluster)}; no new work in the whole cluster`,
    );
  }
  // A node that does not say its zone may be in any.
  const ofZone = shifts.value.find(({ awayFrom }) => zoneId === undefined || awayFrom === zoneId);
  if (ofZone === undefined) return undefined;
  const where = zoneId === undefined ? `a node without ${zoneIdLabel}` : `zone ${zoneId}`;
  return hold('zonal-shift', `${where}: ${shiftText(ofZone)}; no new work there`);
}

/** For example `a zonal shift away from euw1-az1 is active for arn:… until …`. */
export function shiftText({ kind, awayFrom, resource, until }: ZonalShift): string {
  const what = {
    'zonal-shift': 'a zonal shift',
    'practice-run': 'a practice run of zonal autoshift',
    autoshift: 'an autoshift',
  }[kind];
  const of = resource === undefined ? '' : ` for ${resource}`;
  const end = until === undefined ? '' : ` until ${isoTime(until)}`;
  return `${what} away from ${awayFrom} is active${of}${end}`;
}

function heldByCluster({ cluster }: OutsideFacts): OutsideObjection | undefined {
  const status = cluster.ok ? cluster.value?.status : undefined;
  return status === undefined || status === 'ACTIVE'
    ? undefined
    : hold(
        'eks-cluster-updating',
        `cluster: EKS calls it ${status}, not ACTIVE; no new work in it`,
      );
}

/** DEGRADED means that EKS found something wrong, which is no work under way. */
const groupAtWork: readonly string[] = ['CREATING', 'UPDATING', 'DELETING'];

function heldByNodeGroup(
  group: string | undefined,
  answer: Answer<string | undefined> | undefined,
): OutsideObjection | undefined {
  const status = answer?.ok ? answer.value : undefined;
  return status === undefined || !groupAtWork.includes(status)
    ? undefined
    : hold(
        'eks-node-group-updating',
        `pool ${group}: EKS calls the node group ${status}; no new work in it`,
      );
}

function unreadable(answers: readonly Answer<unknown>[]): OutsideObjection | undefined {
  const reasons = answers.flatMap((answer) => (answer.ok ? [] : [answer.reason]));
  if (reasons.length === 0) return undefined;
  const message = `what AWS is doing here cannot be read: ${[...new Set(reasons)].join('; ')}`;
  return { kind: 'unreadable', code: 'aws-unreadable', message };
}

function hold(code: OutsideObjection['code'], message: string): OutsideObjection {
  return { kind: 'hold', code, message };
}
