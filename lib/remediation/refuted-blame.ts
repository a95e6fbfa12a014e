import { isoTime } from '../clock.ts';
import type { Detection, Gap } from '../gap/model.ts';
import type { Refutation } from '../safety/refuted.ts';

/**
 * The detection with the blame on the DaemonSet where a replacement proved that it was not the
 * node: for every gap of it that was there then, and for every later one that has no witness
 * against its node. A later gap with a witness is judged by that.
 */
export function withRefutedBlame(
  detection: Detection,
  refutations: readonly Refutation[],
): Detection {
  if (refutations.length === 0) return detection;
  const byDaemonSet = new Map(refutations.map((refuted) => [refuted.daemonSet, refuted]));
  return {
    ...detection,
    gaps: detection.gaps.map((gap) => {
      const refuted = byDaemonSet.get(gap.daemonSet);
      return refuted !== undefined && isRefuted(gap, refuted) ? blamed(gap, refuted) : gap;
    }),
  };
}

function isRefuted(gap: Gap, refuted: Refutation): boolean {
  return gap.blame === 'unclear' || (gap.blame === 'node' && gap.since <= refuted.at);
}

function blamed(gap: Gap, { node, newNode, at }: Refutation): Gap {
  return {
    ...gap,
    blame: 'daemonset',
    blameReason: `${node} was replaced, and at ${isoTime(at)} its successor ${newNode} had the same gap`,
    blameEvidence: [
      {
        object: `node ${newNode}`,
        field: `gap of ${gap.daemonSet}`,
        value: `seen at ${isoTime(at)}, after it replaced ${node}`,
        wouldChange: `no node has a gap of ${gap.daemonSet} any more`,
      },
    ],
  };
}
