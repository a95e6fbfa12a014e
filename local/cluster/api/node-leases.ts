/** The leases by which kubelets show that they live; made when asked for, since nothing else is stored. */
import { isoTime } from '../../../lib/clock.ts';
import type { World } from '../world.ts';
import { notFound } from './status.ts';

const path = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases\/([^/]+)$/;

/** The name in a request for one lease, or undefined. */
export function leaseNameIn(method: string, requested: string): string | undefined {
  const name = method === 'GET' ? path.exec(requested)?.[1] : undefined;
  return name === undefined ? undefined : decodeURIComponent(name);
}

/** A kubelet renews every ten seconds, so the last renewal is now, or when it fell silent. */
export function leaseOf(world: World, name: string): object {
  const machine = world.machines.get(name);
  const node = world.store.get('nodes', name);
  if (machine === undefined || node === undefined) {
    throw notFound({ resource: 'leases', group: 'coordination.k8s.io', name });
  }
  const renewedAt = world.machines.kubeletAlive(name)
    ? world.timeline.now
    : (machine.silentSince ?? world.timeline.now);
  return {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: { name, namespace: 'kube-node-lease', uid: `lease-of-${node.metadata.uid}` },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: isoTime(renewedAt),
    },
  };
}
