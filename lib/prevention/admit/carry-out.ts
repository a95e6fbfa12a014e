/** Takes the taints off that were decided on, so many at a time and so many a pass. */
import type { Node } from '../../kubernetes/objects.ts';
import {
  type ChangedNodes,
  changeNodes,
  type NodeClient,
  patchUntilItMeets,
} from '../change-nodes.ts';
import { admissionPatch } from './mark.ts';
import type { AdmissionDecision, Removal } from './model.ts';

/** How often a pass tries a node that somebody else keeps writing to. */
const attempts = 5;

/** A node with taints to take off. */
export interface Admittable {
  node: Node;
  remove: Removal[];
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
 * left to the next pass.
 */
export function carryOut(
  client: NodeClient,
  wanted: readonly Admittable[],
  decideAgain: (node: Node) => Admittable | undefined,
  { installation, now }: { installation: string; now: number },
): Promise<ChangedNodes<Admittable>> {
  const patchFor = ({ node, remove }: Admittable) => {
    const names = remove.map(({ name }) => name);
    return admissionPatch(node, names, installation, now);
  };
  return changeNodes(wanted, (next) =>
    patchUntilItMeets(client, next, patchFor, {
      attempts,
      // The pods that were read are those of the node before, when one of its name was made anew.
      again: (read) =>
        read.metadata.uid === next.node.metadata.uid ? decideAgain(read) : undefined,
    }),
  );
}
