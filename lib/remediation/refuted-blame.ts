import { isoTime } from '../clock.ts';
import { isConditionFault, subjectOf } from '../gap/fault.ts';
import type { Detection, Fault } from '../gap/model.ts';
import type { Refutation } from '../safety/refuted.ts';

/**
 * The detection with the blame on the DaemonSet where a replacement proved that it was not the
 * node: for every gap of it that was there then, and for every later one that has no witness
 * against its node. A later gap with a witness is judged by that. A condition has no such witnesses: it
 * is the cluster's until no node has it any more.
 */
export function withRefutedBlame(
  detection: Detection,
  refutations: readonly Refutation[],
): Detection {
  if (refutations.length === 0) return detection;
  const byDaemonSet = new Map(refutations.map((refuted) => [refuted.daemonSet, refuted]));
  const judged = <F extends Fault>(fault: F): F => {
    const refuted = byDaemonSet.get(subjectOf(fault));
    return refuted !== undefined && isRefuted(fault, refuted) ? blamed(fault, refuted) : fault;
  };
  const { gaps, conditionFaults } = detection;
  return {
    ...detection,
    gaps: gaps.map(judged),
    ...(conditionFaults === undefined ? {} : { conditionFaults: conditionFaults.map(judged) }),
  };
}

function isRefuted(gap: Fault, refuted: Refutation): boolean {
  if (gap.blame === 'unclear') return true;
  // That other nodes report otherwise they did then, too: no witness against the node.
  return gap.blame === 'node' && (isConditionFault(gap) || gap.since <= refuted.at);
}

function blamed<F extends Fault>(gap: F, { node, newNode, at }: Refutation): F {
  return {
    ...gap,
    // A condition has no DaemonSet: what all nodes share is to blame.
    blame: isConditionFault(gap) ? 'cluster' : 'daemonset',
    blameReason: `${node} was replaced, and at ${isoTime(at)} its successor ${newNode} had the same ${isConditionFault(gap) ? 'condition' : 'gap'}`,
    blameEvidence: [
      {
        object: `node ${newNode}`,
        field: isConditionFault(gap) ? subjectOf(gap) : `gap of ${subjectOf(gap)}`,
        value: `seen at ${isoTime(at)}, after it replaced ${node}`,
        wouldChange: isConditionFault(gap)
          ? 'no node has it any more'
          : `no node has a gap of ${subjectOf(gap)} any more`,
      },
    ],
  };
}
