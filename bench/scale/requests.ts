/** What nodegap asked of the API server, counted. Pure. */
import type { AuditEntry } from '../../test/e2e/harness/audit.ts';

/** `patch nodes`, `create pods/eviction`, `list pods`. */
export function labelOf({ verb, resource, subresource }: AuditEntry): string {
  return `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** How often each thing was asked, most often first. */
export function countRequests(entries: readonly AuditEntry[]): [label: string, count: number][] {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(labelOf(entry), (counts.get(labelOf(entry)) ?? 0) + 1);
  return [...counts].sort(([a, x], [b, y]) => y - x || a.localeCompare(b));
}

/** What may be written to which object, for the nodes that are to be repaired. */
export interface Allowed {
  nodes: ReadonlySet<string>;
  /** Of those nodes. */
  nodeClaims: ReadonlySet<string>;
  /** `namespace/name` of every pod that was ever on those nodes. */
  pods: ReadonlySet<string>;
}

/** Writes to anything else, and requests that RBAC refused, in words. */
export function wrongRequests(entries: readonly AuditEntry[], allowed: Allowed): string[] {
  return entries.flatMap((entry) => {
    const label = labelOf(entry);
    const { name = '', namespace = '', code } = entry;
    if (code === 401 || code === 403) return [`${label} ${name} was answered with ${code}`];
    const fine = {
      'patch nodes': () => allowed.nodes.has(name),
      'delete nodeclaims': () => allowed.nodeClaims.has(name),
      'create pods/eviction': () => allowed.pods.has(`${namespace}/${name}`),
      'create events': () => true,
      'patch events': () => true,
      // It asks what it may do, and changes nothing.
      'create selfsubjectaccessreviews': () => true,
    }[label];
    const reads = ['get', 'list', 'watch'].includes(entry.verb);
    return reads || fine?.() === true ? [] : [`${label} ${name}: nothing is wrong with that`];
  });
}
