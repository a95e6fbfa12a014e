/** The API server's JSON → what other parts of the cluster say of its nodes. */
import { parseTime } from '../clock.ts';
import type { LeaseReading, Remediation } from '../observation-ports.ts';
import type { ObjectMeta } from './objects.ts';
import { asObject } from './project-fields.ts';

/** coordination.k8s.io/v1, as far as it is read. */
interface Lease {
  metadata: ObjectMeta;
  spec?: { renewTime?: string | null } | null;
}

/** remediation.medik8s.io/v1alpha1 NodeHealthCheck, as far as it is read. */
interface NodeHealthCheck {
  metadata: ObjectMeta;
  status?: {
    unhealthyNodes?:
      | { name?: string; remediations?: { resource?: { kind?: string; name?: string } }[] | null }[]
      | null;
    /** By node name; older releases have only this. */
    inFlightRemediations?: Record<string, unknown> | null;
  } | null;
}

/** @throws KubernetesError when it has no name or uid. */
export function projectLease(raw: unknown): LeaseReading {
  const { spec } = asObject<Lease>(raw, 'Lease');
  const renewedAt = parseTime(spec?.renewTime ?? undefined);
  return renewedAt === undefined
    ? { kind: 'unread', reason: 'it has no time of a renewal' }
    : { kind: 'read', renewedAt };
}

/** @throws KubernetesError when it has no name or uid. */
export function projectRemediations(raw: unknown): Remediation[] {
  const { metadata, status } = asObject<NodeHealthCheck>(raw, 'NodeHealthCheck');
  const check = `NodeHealthCheck ${metadata.name}`;
  const found = new Map<string, string>();
  for (const node of Object.keys(status?.inFlightRemediations ?? {})) found.set(node, check);
  for (const { name, remediations } of status?.unhealthyNodes ?? []) {
    const [remediation] = remediations ?? [];
    if (name === undefined || remediation === undefined) continue;
    const { kind = 'remediation', name: object = '' } = remediation.resource ?? {};
    found.set(name, `${check} (${kind} ${object})`);
  }
  return [...found].map(([node, by]) => ({ node, by }));
}
