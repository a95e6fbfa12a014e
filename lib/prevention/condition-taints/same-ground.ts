/** Whether a node that was written to meanwhile is still the one that was decided on. Pure. */
import type { Node } from '../../kubernetes/objects.ts';
import { vetoOf } from '../../safety/vetoes.ts';
import { conditionTaintName } from './taint.ts';

/**
 * Whether what was decided about `before` holds for `after`, too: only its heartbeats and taints of
 * others have changed, and none of these says that the node is somebody else's now.
 */
export function isSameGround(before: Node, after: Node, installation: string): boolean {
  return (
    JSON.stringify(groundOf(before)) === JSON.stringify(groundOf(after)) &&
    vetoOf(after, undefined, { installation })?.code ===
      vetoOf(before, undefined, { installation })?.code
  );
}

function groundOf({ metadata, spec, status }: Node): unknown[] {
  const { uid, deletionTimestamp, labels = {}, annotations = {} } = metadata;
  return [
    [uid, deletionTimestamp ?? null, spec.unschedulable ?? false],
    [sorted(labels), sorted(annotations)],
    (spec.taints ?? []).filter((taint) => conditionTaintName(taint) !== undefined),
    (status.conditions ?? []).map((each) => [
      ...[each.type, each.status, each.reason ?? null, each.lastTransitionTime ?? null],
    ]),
  ];
}

function sorted(map: Record<string, string>): [string, string][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}
