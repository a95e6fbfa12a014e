/** Takes the taints off that were decided on, so many at a time and so many a pass. */
import { isKubernetesError } from '../../errors.ts';
import { messageWithRemedy } from '../../kubernetes/errors.ts';
import type { Node } from '../../kubernetes/objects.ts';
import type { ClusterReader, ClusterWriter, JsonPatchOperation } from '../../ports.ts';
import { admissionPatch } from './mark.ts';
import type { AdmissionDecision, Removal } from './model.ts';

/** Patches at the same time. */
const streams = 10;
/** Patches of one pass: 500 nodes that come at once are done in three. */
export const mostPatches = 200;
/** How often a pass tries a node that somebody else keeps writing to. */
const attempts = 5;

type NodeClient = Pick<ClusterReader, 'getNode'> & Pick<ClusterWriter, 'patchNode'>;

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
 * One patch a node, on the very state that was decided on. After a conflict the node is read again
 * and `decideAgain` says what comes off now: an agent that writes to its node every two seconds
 * would keep its taint for ever where a pass takes longer than that. What conflicts all the time is
 * left to the next pass, and a node that is refused keeps no other one waiting. Any other failure
 * stops the pass and is thrown when the patches under way have ended.
 */
export async function carryOut(
  client: NodeClient,
  wanted: readonly Admittable[],
  decideAgain: (node: Node) => Admittable | undefined,
  { installation, now }: { installation: string; now: number },
): Promise<CarriedOut> {
  const todo = wanted.slice(0, mostPatches);
  const postponed = wanted.length - todo.length;
  const result: CarriedOut = { done: [], missed: [], refused: [], postponed };
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const { node } = next;
      try {
        result.done.push(
          await patchUntilItMeets(client, next, decideAgain, ({ node: read, remove }) => {
            const names = remove.map(({ name }) => name);
            return admissionPatch(read, names, installation, now);
          }),
        );
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

/** Throws the conflict when nothing comes off the node any more, or it is written to all the time. */
async function patchUntilItMeets(
  client: NodeClient,
  wanted: Admittable,
  decideAgain: (node: Node) => Admittable | undefined,
  patchFor: (wanted: Admittable) => JsonPatchOperation[],
): Promise<Admittable> {
  const { name, uid } = wanted.node.metadata;
  let next = wanted;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.patchNode(name, patchFor(next));
      return next;
    } catch (error) {
      if (!isKubernetesError(error, 'conflict') || attempt === attempts) throw error;
      const found = await client.getNode(name);
      // The pods that were read are those of the node before, when one of its name was made anew.
      const again = found?.metadata.uid === uid ? decideAgain(found) : undefined;
      if (again === undefined) throw error;
      next = again;
    }
  }
}
