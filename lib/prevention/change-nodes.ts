/**
 * Changes many nodes by one patch each. A node that somebody else has written to is read again; one
 * that may not be changed keeps no other one waiting; any other failure stops the rest and is thrown
 * when the patches under way have ended.
 */
import { isKubernetesError } from '../errors.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { ClusterReader, ClusterWriter, JsonPatchOperation } from '../ports.ts';

/** Patches at the same time. */
const streams = 10;
/** Nodes that are changed at once; the next pass does the rest. */
export const mostPatches = 200;

export type NodeClient = Pick<ClusterReader, 'getNode'> & Pick<ClusterWriter, 'patchNode'>;

export interface ChangedNodes<Wanted> {
  done: Wanted[];
  /** Somebody else wrote to the node in between, or it is gone: the next pass looks again. */
  missed: { node: Node; why: string }[];
  /** The API server, or an admission webhook or policy, does not let it be changed. */
  refused: { node: Node; error: Error }[];
  /** Left to the next pass. */
  postponed: number;
}

/** `change` answers what it did, or in words why nothing was to be done any more. */
export async function changeNodes<Wanted extends { node: Node }>(
  wanted: readonly Wanted[],
  change: (next: Wanted) => Promise<Wanted | string>,
): Promise<ChangedNodes<Wanted>> {
  const todo = wanted.slice(0, mostPatches);
  const postponed = wanted.length - todo.length;
  const result: ChangedNodes<Wanted> = { done: [], missed: [], refused: [], postponed };
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const { node } = next;
      try {
        const changed = await change(next);
        if (typeof changed === 'string') result.missed.push({ node, why: changed });
        else result.done.push(changed);
      } catch (error) {
        if (isKubernetesError(error, 'conflict', 'not-found')) {
          result.missed.push({ node, why: error.message });
        } else if (isKubernetesError(error, 'forbidden', 'invalid')) {
          result.refused.push({ node, error });
        } else {
          failures.push(error);
          todo.length = 0;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(streams, todo.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return result;
}

/**
 * Sends the patch for `wanted`. After a conflict the node is read again, and `again` says what is
 * wanted of it now; undefined when it has become another matter.
 * @throws KubernetesError of kind `conflict` then, or when all `attempts` conflict.
 */
export async function patchUntilItMeets<Wanted extends { node: Node }>(
  client: NodeClient,
  wanted: Wanted,
  patchFor: (wanted: Wanted) => JsonPatchOperation[],
  { again, attempts }: { again: (read: Node) => Wanted | undefined; attempts: number },
): Promise<Wanted> {
  const { name } = wanted.node.metadata;
  let next = wanted;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.patchNode(name, patchFor(next));
      return next;
    } catch (error) {
      if (!isKubernetesError(error, 'conflict') || attempt === attempts) throw error;
      const read = await client.getNode(name);
      const now = read === undefined ? undefined : again(read);
      if (now === undefined) throw error;
      next = now;
    }
  }
}
