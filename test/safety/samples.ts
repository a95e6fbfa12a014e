import type { BreakerConfig } from '../../lib/config/model.ts';
import type { Gap } from '../../lib/gap/model.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { countScopes, type ScopeCount } from '../../lib/safety/breaker.ts';
import type { SlotRequest } from '../../lib/safety/slots.ts';

export const breakerLimits: BreakerConfig = {
  maxUnhealthyPercent: 20,
  unhealthyInOneZone: 5,
  coolDown: 600,
  reopenInterval: 300,
  reopenFor: 3600,
  parallelPerPool: 1,
  parallelPerCluster: 3,
  replacementsPerHour: 5,
  badReplacements: 2,
  zonalShifts: 'hold',
  eksUpdates: 'hold',
};

export interface SampleNode {
  name: string;
  uid?: string;
  pool?: string;
  zone?: string;
  ready?: string;
  createdAt?: string;
}

export function node(sample: SampleNode): Node {
  return {
    metadata: {
      name: sample.name,
      uid: sample.uid ?? `uid-${sample.name}`,
      ...(sample.createdAt === undefined ? {} : { creationTimestamp: sample.createdAt }),
      labels: {
        ...(sample.pool === undefined ? {} : { pool: sample.pool }),
        ...(sample.zone === undefined ? {} : { zone: sample.zone }),
      },
    },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: sample.ready ?? 'True' }] },
  };
}

export function gap(nodeName: string, overrides: Partial<Gap> = {}): Gap {
  return {
    node: nodeName,
    nodeUid: `uid-${nodeName}`,
    daemonSet: 'kube-system/cni',
    daemonSetUid: 'uid-cni',
    required: true,
    ceiling: 'replace',
    cause: 'missing',
    otherCauses: [],
    blame: 'node',
    blameReason: 'its peers run it',
    blameEvidence: [],
    since: 0,
    pastGrace: true,
    confirmed: true,
    message: 'no pod',
    evidence: [],
    ...overrides,
  };
}

/** How these samples tell pool, zone and what counts. */
export const bySampleLabels = {
  isCounted: (each: Node) => each.metadata.labels?.fargate !== 'true',
  poolOf: (each: Node) => each.metadata.labels?.pool,
  zoneOf: (each: Node) => each.metadata.labels?.zone,
};

/** Counts of nodes, of which the unhealthy ones have a gap. */
export function countsOf(input: {
  nodes: (SampleNode & { unhealthy?: boolean })[];
  percent?: number;
}): ScopeCount[] {
  return countScopes({
    nodes: input.nodes.map(node),
    gaps: input.nodes.filter(({ unhealthy }) => unhealthy).map(({ name }) => gap(name)),
    inWork: [],
    percent: input.percent ?? 20,
    ...bySampleLabels,
  });
}

export function slotRequest(
  overrides: Partial<SlotRequest> & Pick<SlotRequest, 'node' | 'counts' | 'countedAt'>,
): SlotRequest {
  return {
    cluster: 'prod',
    nodeUid: `uid-${overrides.node}`,
    execution: `execution-of-${overrides.node}`,
    episode: 1,
    attempt: 1,
    ...overrides,
  };
}
