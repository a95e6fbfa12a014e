import { KubernetesError } from '../errors.ts';
import type { PlainReads } from './plain-reads.ts';

/**
 * Objects with all their fields, what is secret in them included: nothing of it is kept or shown
 * but through lib/evidence/redact.ts.
 */
export interface WholeReads {
  getNode(name: string): Promise<Record<string, unknown> | undefined>;
  listPodsOnNode(node: string): Promise<Record<string, unknown>[]>;
  getNodeClaim(name: string): Promise<Record<string, unknown> | undefined>;
}

/** Reads of objects with every field, secrets of their specs included: only for evidence. */
export function createWholeReads(read: PlainReads): WholeReads {
  return {
    getNode: async (name) => objectOf(await read.get(`/api/v1/nodes/${encodeURIComponent(name)}`)),
    async listPodsOnNode(node) {
      const pods = await read.list('/api/v1/pods', { fieldSelector: `spec.nodeName=${node}` });
      return pods.map((pod) => {
        const found = objectOf(pod);
        if (found === undefined) throw new KubernetesError('server', 'a pod that is no object');
        return found;
      });
    },
    getNodeClaim: async (name) =>
      objectOf(await read.get(`/apis/karpenter.sh/v1/nodeclaims/${encodeURIComponent(name)}`)),
  };
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)
    : undefined;
}
