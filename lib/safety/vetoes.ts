/**
 * Reasons to leave a node alone because it is someone else's: on its way out, in another tool's
 * hands, or spoken for by a person. A node that somebody else cordoned is not vetoed.
 */
import type { Node, NodeClaim, ObjectMeta } from '../kubernetes/objects.ts';
import {
  humanUncordoned,
  markRefusal,
  type OwnershipRefusal,
  readMark,
  uncordonRefusal,
} from './ownership.ts';

export const skipAnnotation = 'nodegap.dev/skip';

export type VetoCode =
  | 'node-deleting'
  | 'claim-deleting'
  | 'karpenter-disrupted'
  | 'autoscaler-deleting'
  | 'autoscaler-candidate'
  | 'leaving'
  | 'skip'
  | 'do-not-repair'
  | 'excluded-from-remediation'
  | 'medik8s-remediation'
  | 'medik8s-maintenance'
  | 'out-of-service'
  | 'skip-remediation'
  | 'unmanaged'
  | OwnershipRefusal['code'];

/** Why nodegap does not touch a node. `message` names the object and what stands on it. */
export interface Veto {
  code: VetoCode;
  message: string;
}

export interface VetoOptions {
  /** Whose marks on the node are our own. */
  installation: string;
  /** What is known from outside the cluster about the node going away, in words. */
  leaving?: string;
  /** What says that medik8s remediates the node now. */
  remediation?: string;
}

/** Taints by which another controller says that it is removing the node. */
const leavingTaints: { key: string; code: VetoCode; by: string }[] = [
  { key: 'karpenter.sh/disrupted', code: 'karpenter-disrupted', by: 'Karpenter' },
  // Its name before karpenter.sh/v1.
  { key: 'karpenter.sh/disruption', code: 'karpenter-disrupted', by: 'Karpenter' },
  {
    key: 'ToBeDeletedByClusterAutoscaler',
    code: 'autoscaler-deleting',
    by: 'the cluster autoscaler',
  },
];

/** Taints by which another tool says that it works on the node. */
const workTaints: { key: string; code: VetoCode; means: string }[] = [
  // self-node-remediation and fence-agents-remediation of medik8s, as long as they are at it.
  {
    key: 'medik8s.io/remediation',
    code: 'medik8s-remediation',
    means: 'medik8s is remediating it',
  },
  // node-maintenance-operator of medik8s.
  { key: 'medik8s.io/drain', code: 'medik8s-maintenance', means: 'it is in maintenance' },
];

/**
 * Taints that say the same of a node that nobody works on yet. On a node that nodegap has emptied
 * they only follow from that.
 */
const firstComeTaints: typeof workTaints = [
  {
    key: 'DeletionCandidateOfClusterAutoscaler',
    code: 'autoscaler-candidate',
    means: 'the cluster autoscaler does not need it and is about to remove it',
  },
  // https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
  {
    key: 'node.kubernetes.io/out-of-service',
    code: 'out-of-service',
    means: 'somebody has declared it dead and takes care of it',
  },
];

interface Sign {
  key: string;
  code: VetoCode;
  on: 'annotation' | 'label';
  /** Whether that value is a veto. */
  holds(value: string): boolean;
}

const isTrue = (value: string) => value === 'true';
const isFalse = (value: string) => value === 'false';

/** Signs on a Node or NodeClaim that keep repair tools away, each read as its own tool reads it. */
const signs: Sign[] = [
  // Ours. The value may hold the reason; only an explicit "false" takes it back.
  { key: skipAnnotation, code: 'skip', on: 'annotation', holds: (value) => value !== 'false' },
  // Karpenter: annotation of Node and NodeClaim, value "true". `do-not-disrupt` is no veto of
  // repair there, nor here.
  { key: 'karpenter.sh/do-not-repair', code: 'do-not-repair', on: 'annotation', holds: isTrue },
  // medik8s: label, value "true"; node-maintenance-operator sets it while it works on a node.
  {
    key: 'remediation.medik8s.io/exclude-from-remediation',
    code: 'excluded-from-remediation',
    on: 'label',
    holds: isTrue,
  },
  // Cluster API: the key alone counts.
  {
    key: 'cluster.x-k8s.io/skip-remediation',
    code: 'skip-remediation',
    on: 'annotation',
    holds: () => true,
  },
  // NVSentinel: opt-out labels, the second being the older name.
  { key: 'nvsentinel.dgxc.nvidia.com/managed', code: 'unmanaged', on: 'label', holds: isFalse },
  { key: 'k8saas.nvidia.com/ManagedByNVSentinel', code: 'unmanaged', on: 'label', holds: isFalse },
];

/** The first reason to leave a node alone, or undefined when there is none. */
export function vetoOf(
  node: Node,
  nodeClaim: NodeClaim | undefined,
  options: VetoOptions,
): Veto | undefined {
  return (
    leavingVeto(node, nodeClaim, options) ??
    workVeto(node, options) ??
    signVeto('node', node.metadata) ??
    (nodeClaim && signVeto('NodeClaim', nodeClaim.metadata)) ??
    markVeto(node, options.installation)
  );
}

function leavingVeto(
  node: Node,
  nodeClaim: NodeClaim | undefined,
  options: VetoOptions,
): Veto | undefined {
  const { name, deletionTimestamp } = node.metadata;
  if (deletionTimestamp !== undefined) {
    const message = `node ${name} is being deleted since ${deletionTimestamp}`;
    return { code: 'node-deleting', message };
  }
  if (nodeClaim?.metadata.deletionTimestamp !== undefined) {
    const { name: claim, deletionTimestamp: since } = nodeClaim.metadata;
    const message = `NodeClaim ${claim} of node ${name} is being deleted since ${since}`;
    return { code: 'claim-deleting', message };
  }
  for (const { key, code, by } of leavingTaints) {
    if (node.spec.taints?.some((taint) => taint.key === key)) {
      return { code, message: `node ${name} has the taint ${key}: ${by} is removing it` };
    }
  }
  if (options.leaving !== undefined) {
    return { code: 'leaving', message: `node ${name} is leaving: ${options.leaving}` };
  }
  return undefined;
}

function workVeto(node: Node, options: VetoOptions): Veto | undefined {
  const { name } = node.metadata;
  if (options.remediation !== undefined) {
    const message = `node ${name} is being remediated by ${options.remediation}`;
    return { code: 'medik8s-remediation', message };
  }
  const isOurs = readMark(node, options.installation).kind === 'ours';
  for (const { key, code, means } of isOurs ? workTaints : [...workTaints, ...firstComeTaints]) {
    if (!node.spec.taints?.some((taint) => taint.key === key)) continue;
    return { code, message: `node ${name} has the taint ${key}: ${means}` };
  }
  return undefined;
}

function signVeto(kind: 'node' | 'NodeClaim', metadata: ObjectMeta): Veto | undefined {
  for (const { key, code, on, holds } of signs) {
    const value = (on === 'label' ? metadata.labels : metadata.annotations)?.[key];
    if (value !== undefined && holds(value)) {
      return { code, message: `${kind} ${metadata.name} has the ${on} ${key}=${value}` };
    }
  }
  return undefined;
}

function markVeto(node: Node, installation: string): Veto | undefined {
  const reading = readMark(node, installation);
  const refusal =
    reading.kind === 'foreign' || reading.kind === 'unreadable'
      ? markRefusal(reading)
      : reading.kind === 'ours' && humanUncordoned(node)
        ? uncordonRefusal(reading.mark)
        : undefined;
  return (
    refusal && { code: refusal.code, message: `node ${node.metadata.name}: ${refusal.message}` }
  );
}
