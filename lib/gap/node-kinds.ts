/** Which nodes are looked at, and what they belong to. */
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import type { Evidence } from './model.ts';
import { taintText } from './tolerations.ts';

/** Why a node is left out of detection and of every count. */
export interface LeftOut {
  kind: 'fargate' | 'hybrid' | 'leaving';
  reason: string;
  evidence: Evidence[];
}

const computeType = 'eks.amazonaws.com/compute-type';

/** Taints of a node that something has decided to take away. */
const leavingTaints = new Set([
  'karpenter.sh/disrupted',
  // Karpenter before v1.
  'karpenter.sh/disruption',
  'ToBeDeletedByClusterAutoscaler',
]);

/** In order of preference: the first label that the node bears names its pool. */
const poolLabels = [
  'karpenter.sh/nodepool',
  'eks.amazonaws.com/nodegroup',
  'alpha.eksctl.io/nodegroup-name',
];

const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];

/**
 * Fargate nodes run no DaemonSet pods, hybrid nodes are machines that nodegap cannot replace, and
 * a leaving node belongs to whoever takes it away. Undefined for a node that is looked at.
 * `claim` is the node's NodeClaim, when there is one.
 */
export function leftOut(node: Node, claim?: NodeClaim): LeftOut | undefined {
  const { name, deletionTimestamp } = node.metadata;
  const type = node.metadata.labels?.[computeType];
  const providerId = node.spec.providerID ?? '';
  const because = (field: string, value: string, wouldChange: string): Evidence[] => [
    { object: `node ${name}`, field, value, wouldChange },
  ];
  const byType = (wanted: string) =>
    type === wanted
      ? because(`metadata.labels[${computeType}]`, wanted, 'the label has another value')
      : because('spec.providerID', providerId, 'the node is a machine of another kind');
  if (type === 'fargate' || /^aws:\/\/\/[^/]+\/[^/]+\/fargate-/.test(providerId)) {
    return {
      kind: 'fargate',
      reason: `${name} is a Fargate node, which runs no DaemonSet pods`,
      evidence: byType('fargate'),
    };
  }
  if (type === 'hybrid' || providerId.startsWith('eks-hybrid://')) {
    return {
      kind: 'hybrid',
      reason: `${name} is a hybrid node, which nodegap does not manage`,
      evidence: byType('hybrid'),
    };
  }
  if (deletionTimestamp !== undefined) {
    return {
      kind: 'leaving',
      reason: `${name} is being deleted since ${deletionTimestamp}`,
      evidence: because(
        'metadata.deletionTimestamp',
        deletionTimestamp,
        'nothing: a deletion is not taken back',
      ),
    };
  }
  const index = node.spec.taints?.findIndex(({ key }) => leavingTaints.has(key)) ?? -1;
  const taint = node.spec.taints?.[index];
  if (taint !== undefined) {
    return {
      kind: 'leaving',
      reason: `${name} is being taken away: it bears taint ${taint.key}`,
      evidence: because(`spec.taints[${index}]`, taintText(taint), 'the taint goes away'),
    };
  }
  const claimDeleted = claim?.metadata.deletionTimestamp;
  if (claimDeleted !== undefined) {
    return {
      kind: 'leaving',
      reason: `${name} is being taken away: its NodeClaim ${claim?.metadata.name} is being deleted`,
      evidence: [
        {
          object: `nodeclaim ${claim?.metadata.name}`,
          field: 'metadata.deletionTimestamp',
          value: claimDeleted,
          wouldChange: 'nothing: a deletion is not taken back',
        },
      ],
    };
  }
  return undefined;
}

/** Whether a node counts in totals: it is neither Fargate nor hybrid nor leaving. */
export function isCounted(node: Node): boolean {
  return leftOut(node) === undefined;
}

/** Whether the node should have a NodeClaim. */
export function isOfKarpenter(node: Node): boolean {
  const { labels, ownerReferences } = node.metadata;
  return (
    labels?.['karpenter.sh/nodepool'] !== undefined ||
    (ownerReferences?.some(({ kind }) => kind === 'NodeClaim') ?? false)
  );
}

/** The NodePool or node group that the node, or the NodeClaim, belongs to. */
export function poolOf(node: Pick<Node, 'metadata'>): string | undefined {
  return firstLabel(node, poolLabels);
}

/** The availability zone of the node. */
export function zoneOf(node: Node): string | undefined {
  return firstLabel(node, zoneLabels);
}

function firstLabel(node: Pick<Node, 'metadata'>, names: readonly string[]): string | undefined {
  const { labels } = node.metadata;
  if (labels === undefined) return undefined;
  for (const name of names) {
    const value = labels[name];
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}
