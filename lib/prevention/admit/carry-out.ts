/** Takes the taints off that were decided on, so many at a time and so many a pass. */
import { isKubernetesError } from '../../errors.ts';
import { messageWithRemedy } from '../../kubernetes/errors.ts';
import type { Node } from '../../kubernetes/objects.ts';
import type { ClusterWriter } from '../../ports.ts';
import { admissionPatch } from './mark.ts';
import type { AdmissionDecision, Removal } from './model.ts';

/** Patches at the same time. */
const streams = 10;
/** Patches of one pass: 500 nodes that come at once are done in three. */
export const mostPatches = 200;

/** A node with taints to take off. */
export interface Admittable {
  node: Node;
  remove: Removal[];
}

export interface CarriedOut {
  done: Admittable[];
  /** Somebody else wrote to the node in between, or it is gone: the next pass looks again. */
  missed: { node: Node; why: string }[];
  /** The API server, or an admission webhook or policy, does not let it be changed. */
  refused: { node: Node; why: string }[];
  /** Left to the next pass. */
  postponed: number;
}

/** The nodes with something to take off, those that have waited longest first. */
export function admittable({ nodes }: AdmissionDecision): Admittable[] {
  const age = ({ node }: Admittable) => node.metadata.creationTimestamp ?? '';
  return nodes
    .flatMap((each) => (each.kind === 'looked-at' && each.remove.length > 0 ? [each] : []))
    .sort((left, right) => (age(left) < age(right) ? -1 : age(left) > age(right) ? 1 : 0));
}

/**
 * One patch a node. A conflict is left to the next pass, in a few seconds, and a node that is
 * refused keeps no other one waiting. Any other failure stops the pass and is thrown when the
 * patches under way have ended.
 */
export async function carryOut(
  writer: Pick<ClusterWriter, 'patchNode'>,
  wanted: readonly Admittable[],
  installation: string,
  now: number,
): Promise<CarriedOut> {
  const todo = wanted.slice(0, mostPatches);
  const postponed = wanted.length - todo.length;
  const result: CarriedOut = { done: [], missed: [], refused: [], postponed };
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const { node, remove } = next;
      const names = remove.map(({ name }) => name);
      try {
        await writer.patchNode(node.metadata.name, admissionPatch(node, names, installation, now));
        result.done.push(next);
      } catch (error) {
        if (isKubernetesError(error, 'conflict', 'not-found')) {
          result.missed.push({ node, why: error.message });
        } else if (isKubernetesError(error, 'forbidden', 'invalid')) {
          result.refused.push({ node, why: messageWithRemedy(error) });
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
