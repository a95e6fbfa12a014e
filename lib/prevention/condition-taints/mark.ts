/**
 * The note of the taints that nodegap put on a node for its conditions, and the patch that changes
 * both together. Without the note a taint is somebody else's, whatever its key.
 */
import { isoTime } from '../../clock.ts';
import { fence, removeAnnotation, setAnnotation, setTaints } from '../../kubernetes/node-patch.ts';
import type { Node, Taint } from '../../kubernetes/objects.ts';
import type { JsonPatchOperation } from '../../ports.ts';
import * as z from '../../zod.ts';
import { conditionTaintKey, conditionTaintsAnnotation } from './taint.ts';

const notedSchema = z.object({
  effect: z.enum(['NoSchedule', 'PreferNoSchedule']),
  /** Since when the condition is there, ISO 8601. */
  since: z.string(),
  /** When the taint was put on. */
  at: z.string(),
});
export type NotedTaint = z.infer<typeof notedSchema>;

const markSchema = z.object({
  installation: z.string(),
  /** By NAME of the rule. */
  taints: z.record(z.string(), notedSchema),
});

export type MarkOfTaints =
  | { kind: 'none' }
  | { kind: 'ours'; taints: Record<string, NotedTaint> }
  /** Of another installation, or not to be read: nothing of it is ours to change. */
  | { kind: 'foreign'; message: string };

/** What the node's annotation says of the condition taints on it. */
export function readConditionMark(node: Node, installation: string): MarkOfTaints {
  const text = node.metadata.annotations?.[conditionTaintsAnnotation];
  if (text === undefined) return { kind: 'none' };
  const mark = markSchema.safeParse(jsonOf(text));
  if (!mark.success) {
    const message = `annotation ${conditionTaintsAnnotation} cannot be read`;
    return { kind: 'foreign', message };
  }
  if (mark.data.installation !== installation) {
    const message = `annotation ${conditionTaintsAnnotation} is of installation ${mark.data.installation}`;
    return { kind: 'foreign', message };
  }
  return { kind: 'ours', taints: mark.data.taints };
}

/** Which installation the note on the node is of; undefined without one that can be read. */
export function notedInstallation(node: Node): string | undefined {
  const text = node.metadata.annotations?.[conditionTaintsAnnotation];
  const mark = markSchema.safeParse(text === undefined ? undefined : jsonOf(text));
  return mark.success ? mark.data.installation : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Told by the caller as a mark that cannot be read.
    return undefined;
  }
}

export interface MarkChange {
  add: { name: string; effect: NotedTaint['effect']; since: number }[];
  remove: readonly string[];
}

/**
 * One JSON Patch that changes taints and note together, on the very state that was read. Others'
 * taints keep their place; one of ours that gets another effect keeps its own.
 * @throws NodegapError `NodeWithoutVersion` for a node read without a resourceVersion.
 */
export function conditionTaintPatch(
  node: Node,
  { add, remove }: MarkChange,
  installation: string,
  now: number,
): JsonPatchOperation[] {
  const mark = readConditionMark(node, installation);
  const noted = { ...(mark.kind === 'ours' ? mark.taints : {}) };
  let taints = node.spec.taints ?? [];
  for (const gone of remove) {
    const { effect } = noted[gone] ?? {};
    taints = taints.filter((taint) => !(isOf(taint, gone) && taint.effect === effect));
    delete noted[gone];
  }
  for (const { name: rule, effect, since } of add) {
    const taint: Taint = { key: conditionTaintKey(rule), effect };
    const before = noted[rule]?.effect;
    const at = taints.findIndex((each) => isOf(each, rule) && each.effect === before);
    taints = at < 0 ? [...taints, taint] : taints.with(at, taint);
    noted[rule] = { effect, since: isoTime(since), at: isoTime(now) };
  }
  return [...fence(node), ...setTaints(node, taints), ...noteOperations(node, noted, installation)];
}

function noteOperations(
  node: Node,
  noted: Record<string, NotedTaint>,
  installation: string,
): JsonPatchOperation[] {
  if (Object.keys(noted).length > 0) {
    const text = JSON.stringify({ installation, taints: noted });
    return [setAnnotation(node, conditionTaintsAnnotation, text)];
  }
  const isThere = node.metadata.annotations?.[conditionTaintsAnnotation] !== undefined;
  return isThere ? [removeAnnotation(conditionTaintsAnnotation)] : [];
}

function isOf({ key }: Taint, name: string): boolean {
  return key === conditionTaintKey(name);
}
