/**
 * What is said of a node whose kubelet is dead and whose volumes hang on it (case C94).
 *
 * The taint `node.kubernetes.io/out-of-service` makes Kubernetes force its pods away and detach
 * their volumes. On a machine that still runs that lets two machines write to one volume. So
 * nodegap never sets it: it says the exact line once EC2 shows the machine as terminated, and
 * warns against it until then.
 * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
 */
import { conditionOf, type Node } from '../kubernetes/objects.ts';
import type { Machine } from '../machines.ts';

export const outOfServiceTaint = 'node.kubernetes.io/out-of-service';

export interface DeadNode {
  /** As it is in the cluster, undefined when it is gone. */
  node: Node | undefined;
  /** What EC2 says; undefined when it was not asked or knows none. */
  machine: Machine | undefined;
  /** Volumes that are attached to the node. */
  volumes: readonly string[];
}

/** One sentence for a person, or undefined when nothing hangs on a dead kubelet. */
export function outOfServiceAdvice({ node, machine, volumes }: DeadNode): string | undefined {
  if (node === undefined) return undefined;
  const { name } = node.metadata;
  if (conditionOf(node.status.conditions, 'Ready')?.status === 'True') return undefined;
  if (node.spec.taints?.some(({ key }) => key === outOfServiceTaint)) return undefined;
  if (machine?.state === 'terminated') {
    return `EC2 shows ${machine.id} as terminated, so if the node does not go away by itself its volumes can be let go by: kubectl taint nodes ${name} ${outOfServiceTaint}=nodeshutdown:NoExecute`;
  }
  if (volumes.length === 0) return undefined;
  const state =
    machine === undefined
      ? 'does not show the machine as'
      : `shows ${machine.id} as ${machine.state}, not`;
  return `do not set ${outOfServiceTaint} on ${name}: EC2 ${state} terminated, and a machine that still runs would write to volumes that are attached elsewhere`;
}
