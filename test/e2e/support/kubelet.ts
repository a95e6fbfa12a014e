/**
 * The kubelet of a machine that Karpenter launched, in the moment in which it registers its node.
 *
 * Karpenter's kwok provider makes the node itself and with no taint but `karpenter.sh/unregistered`,
 * so startup taints come with Karpenter's registration. A kubelet on EC2 brings them itself, by
 * `--register-with-taints`: a pool with `registrationDelay: neverByItself` gets no node from the
 * provider, and the test is its kubelet.
 */
import type { Node, NodeClaim, Taint } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { nodeClaims } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';

/** Longer than any test. */
export const neverByItself = '3600s';

interface Launched extends NodeClaim {
  status: NodeClaim['status'] & {
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
  };
}

/** Waits until a machine of the pool runs whose kubelet has not registered. */
export async function launched(cluster: ControlPlane, pool: string): Promise<NodeClaim> {
  return waitFor(
    async () =>
      (await nodeClaims(cluster.client())).find(
        ({ metadata, status }) =>
          metadata.labels?.['karpenter.sh/nodepool'] === pool &&
          status.providerID !== undefined &&
          status.nodeName === undefined,
      ),
    {
      timeout: 180_000,
      what: `a machine of ${pool}`,
      describe: () => cluster.kubectl(['get', 'nodeclaims', '-o', 'wide']),
    },
  );
}

/** The kubelet registers: the node bears these taints from its first moment on. */
export async function registerNode(
  { client }: ControlPlane,
  claim: NodeClaim,
  taints: Taint[],
): Promise<Node> {
  const { metadata, status } = claim as Launched;
  const { providerID = '', capacity, allocatable } = status;
  const name = providerID.replace('kwok://', '');
  return client().create('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { ...metadata.labels, 'kubernetes.io/hostname': name },
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
    },
    spec: {
      providerID,
      taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }, ...taints],
    },
    status: { capacity, allocatable },
  });
}
