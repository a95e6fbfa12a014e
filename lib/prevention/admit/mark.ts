/**
 * The mark of a node that has proved itself, and the patch that lets it take workload. The mark is
 * written by the very patch that takes the taint off, so that a taint which comes back (Karpenter's
 * registration restores it, kubernetes-sigs/karpenter#1772) is known to be an old one.
 */
import { isoTime } from '../../clock.ts';
import { fence, setAnnotation, setTaints } from '../../kubernetes/node-patch.ts';
import type { Node } from '../../kubernetes/objects.ts';
import type { JsonPatchOperation } from '../../ports.ts';
import * as z from '../../zod.ts';
import { startupTaintName } from '../startup-taint.ts';

export const admittedAnnotation = 'nodegap.dev/admitted';

const markSchema = z.object({
  installation: z.string(),
  /** Of the node: a mark that was copied, or applied again to a node made anew, proves nothing. */
  nodeUid: z.string(),
  /** When the taint of each NAME was taken off, ISO 8601. */
  names: z.record(z.string(), z.string()),
});

/** NAMEs that the node has proved to this installation, and when. None when it cannot be read. */
export function admittedNames(node: Node, installation: string): ReadonlyMap<string, string> {
  const text = node.metadata.annotations?.[admittedAnnotation];
  if (text === undefined) return new Map();
  try {
    const mark = markSchema.safeParse(JSON.parse(text));
    const isOurs =
      mark.success &&
      mark.data.installation === installation &&
      mark.data.nodeUid === node.metadata.uid;
    // A map, for every object has a member `constructor`, which is a fine name for a DaemonSet.
    return new Map(isOurs ? Object.entries(mark.data.names) : []);
  } catch {
    // Not JSON: somebody else's words prove nothing, and the next removal writes ours.
    return new Map();
  }
}

/**
 * One JSON Patch that takes the taints of `names` off and writes the mark: only on the very state
 * that was read. Other taints keep their place. The first time that a NAME was proved stands.
 * @throws NodegapError `NodeWithoutVersion` for a node read without a resourceVersion.
 */
export function admissionPatch(
  node: Node,
  names: readonly string[],
  installation: string,
  now: number,
): JsonPatchOperation[] {
  const off = new Set(names);
  const kept = (node.spec.taints ?? []).filter((taint) => !off.has(startupTaintName(taint) ?? ''));
  const proved = Object.fromEntries(names.map((each) => [each, isoTime(now)]));
  const mark = JSON.stringify({
    installation,
    nodeUid: node.metadata.uid,
    names: { ...proved, ...Object.fromEntries(admittedNames(node, installation)) },
  });
  return [...fence(node), ...setTaints(node, kept), setAnnotation(node, admittedAnnotation, mark)];
}
