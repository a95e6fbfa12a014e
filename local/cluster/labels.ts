/** Well-known names of Kubernetes, Karpenter and EKS that the simulation puts on objects. */
import type { Node } from '../../lib/kubernetes/objects.ts';

export const zoneLabel = 'topology.kubernetes.io/zone';
export const nodePoolLabel = 'karpenter.sh/nodepool';
export const nodeGroupLabel = 'eks.amazonaws.com/nodegroup';
/** Of eksctl, for nodes that EKS does not manage. */
export const selfManagedLabel = 'alpha.eksctl.io/nodegroup-name';
export const registeredLabel = 'karpenter.sh/registered';
export const initializedLabel = 'karpenter.sh/initialized';
export const karpenterFinalizer = 'karpenter.sh/termination';
export const disruptedTaint = 'karpenter.sh/disrupted';
export const unregisteredTaint = 'karpenter.sh/unregistered';
export const doNotDisrupt = 'karpenter.sh/do-not-disrupt';
export const revisionLabel = 'controller-revision-hash';

/** The NodePool or node group that the node belongs to. */
export function poolOf(node: Node): string | undefined {
  const labels = node.metadata.labels ?? {};
  return labels[nodePoolLabel] ?? labels[nodeGroupLabel] ?? labels[selfManagedLabel];
}

export function zoneOf(node: Node): string | undefined {
  return node.metadata.labels?.[zoneLabel];
}
