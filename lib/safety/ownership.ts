/**
 * Who isolated a node, and how to do and undo it. Pure: a node as read goes in, one JSON Patch
 * comes out (lib/remediation/isolation.ts sends it).
 *
 * How it works
 * - What was done stands in the annotation `nodegap.dev/isolation`, written by the same patch that
 *   does it. Undoing reads that mark: a cordon that was there before stays.
 * - Every patch tests the node's uid and replaces `metadata.resourceVersion` by the one that was
 *   read. The API server answers a stale one with 409, so whoever wrote in between is never
 *   overwritten, whatever field it was.
 * - `spec.taints` is an atomic list for every patch type: the list as read is written back with
 *   only our own entry added or taken out, the others untouched.
 */
import { fence, removeAnnotation, setAnnotation, setTaints } from '../kubernetes/node-patch.ts';
import type { Node, Taint } from '../kubernetes/objects.ts';
import type { JsonPatchOperation } from '../ports.ts';
import {
  humanUncordoned,
  type IsolationMark,
  isIsolationTaint,
  isolationAnnotation,
  isolationTaint,
  type MarkFields,
  markRefusal,
  type OwnershipRefusal,
  readMark,
  uncordonRefusal,
} from './isolation-mark.ts';

export type { IsolationMark, MarkFields, MarkReading, OwnershipRefusal } from './isolation-mark.ts';
export {
  anyMark,
  humanUncordoned,
  isIsolationTaint,
  isolationAnnotation,
  isolationTaint,
  markRefusal,
  readMark,
  uncordonRefusal,
} from './isolation-mark.ts';

export type IsolationPlan =
  | { kind: 'patch'; patch: JsonPatchOperation[]; mark: IsolationMark }
  /** All of it stands already. */
  | { kind: 'nothing'; mark: IsolationMark }
  | { kind: 'refused'; refusal: OwnershipRefusal };

export type ReleasePlan =
  | { kind: 'patch'; patch: JsonPatchOperation[]; uncordons: boolean; untaints: boolean }
  | { kind: 'nothing' }
  | { kind: 'refused'; refusal: OwnershipRefusal };

/**
 * The patch that isolates a node: cordon, with `taint` also nodegap's taint, and the mark. A node
 * that this installation isolated in an earlier attempt keeps what its mark says was done, under
 * the new attempt's name. Throws `NodeWithoutVersion` for a node read without a resourceVersion.
 */
export function planIsolation(
  node: Node,
  options: { mark: MarkFields; taint: boolean },
): IsolationPlan {
  const fields = options.mark;
  const reading = readMark(node, fields.installation);
  if (reading.kind === 'foreign' || reading.kind === 'unreadable') {
    return { kind: 'refused', refusal: markRefusal(reading) };
  }
  const earlier = reading.kind === 'ours' ? reading.mark : undefined;
  if (earlier !== undefined && humanUncordoned(node)) {
    return { kind: 'refused', refusal: uncordonRefusal(earlier) };
  }
  if (earlier !== undefined && isLater(earlier, fields)) {
    return { kind: 'refused', refusal: otherExecution(earlier) };
  }
  const isCordoned = node.spec.unschedulable === true;
  const mark: IsolationMark = {
    ...markFieldsOf(fields),
    cordoned: isCordoned ? (earlier?.cordoned ?? false) : true,
    tainted: options.taint || (earlier?.tainted ?? false),
  };
  const taints = mark.tainted ? withOwnTaint(node) : undefined;
  if (earlier !== undefined && isCordoned && taints === undefined && sameAttempt(earlier, mark)) {
    return { kind: 'nothing', mark: earlier };
  }
  const patch = [
    ...fence(node),
    ...(isCordoned ? [] : [{ op: 'add', path: '/spec/unschedulable', value: true } as const]),
    ...(taints === undefined ? [] : setTaints(node, taints)),
    setAnnotation(node, isolationAnnotation, JSON.stringify(mark)),
  ];
  return { kind: 'patch', patch, mark };
}

/**
 * The patch that adds nodegap's taint to a node that this very execution has isolated. Without
 * its mark somebody has undone the isolation, and the node is left alone.
 */
export function planTaint(node: Node, fields: MarkFields): IsolationPlan {
  const reading = readMark(node, fields.installation);
  if (reading.kind === 'foreign' || reading.kind === 'unreadable') {
    return { kind: 'refused', refusal: markRefusal(reading) };
  }
  if (reading.kind === 'none') {
    const message = `annotation ${isolationAnnotation} is gone: someone undid the isolation`;
    return { kind: 'refused', refusal: { code: 'mark-missing', message } };
  }
  const { mark } = reading;
  if (mark.execution !== fields.execution) {
    return { kind: 'refused', refusal: otherExecution(mark) };
  }
  if (humanUncordoned(node)) return { kind: 'refused', refusal: uncordonRefusal(mark) };
  const taints = withOwnTaint(node);
  if (taints === undefined && mark.tainted) return { kind: 'nothing', mark };
  const tainted: IsolationMark = { ...mark, tainted: true };
  const patch = [
    ...fence(node),
    ...(taints === undefined ? [] : setTaints(node, taints)),
    setAnnotation(node, isolationAnnotation, JSON.stringify(tainted)),
  ];
  return { kind: 'patch', patch, mark: tainted };
}

/**
 * The patch that undoes what the mark says, and takes nodegap's taint off. The taint goes also
 * when no mark stands beside it: the key is nodegap's alone, and a taint that nobody answers for
 * would keep the node empty for good. A cordon without a mark stays. With `execution`, only that
 * execution's isolation is undone, so a late release cannot undo a newer attempt.
 */
export function planRelease(node: Node, installation: string, execution?: string): ReleasePlan {
  const reading = readMark(node, installation);
  if (reading.kind === 'foreign' || reading.kind === 'unreadable') {
    return { kind: 'refused', refusal: markRefusal(reading) };
  }
  const mark = reading.kind === 'ours' ? reading.mark : undefined;
  if (mark !== undefined && execution !== undefined && mark.execution !== execution) {
    return { kind: 'refused', refusal: otherExecution(mark) };
  }
  const taints = node.spec.taints ?? [];
  const others = taints.filter((taint) => !isIsolationTaint(taint));
  const untaints = others.length < taints.length;
  if (mark === undefined && !untaints) return { kind: 'nothing' };
  const uncordons = mark?.cordoned === true && node.spec.unschedulable === true;
  const patch: JsonPatchOperation[] = [...fence(node)];
  if (uncordons) patch.push({ op: 'remove', path: '/spec/unschedulable' });
  if (untaints) patch.push(...setTaints(node, others));
  if (mark !== undefined) patch.push(removeAnnotation(isolationAnnotation));
  return { kind: 'patch', patch, uncordons, untaints };
}

/** The taints with nodegap's own in place, or undefined when they are that already. */
function withOwnTaint(node: Node): Taint[] | undefined {
  const taints = node.spec.taints ?? [];
  const index = taints.findIndex(isIsolationTaint);
  if (index === -1) return [...taints, isolationTaint];
  if ((taints[index]?.value ?? '') === '') return undefined;
  return taints.with(index, isolationTaint);
}

function markFieldsOf(fields: MarkFields): MarkFields {
  const { installation, execution, episode, attempt, at } = fields;
  return { installation, execution, episode, attempt, at };
}

function sameAttempt(left: IsolationMark, right: IsolationMark): boolean {
  return (
    left.execution === right.execution &&
    left.episode === right.episode &&
    left.attempt === right.attempt &&
    left.cordoned === right.cordoned &&
    left.tainted === right.tainted
  );
}

/** Whether the mark was left by a later attempt than `fields` speaks for. */
function isLater(mark: IsolationMark, fields: MarkFields): boolean {
  return mark.episode === fields.episode
    ? mark.attempt > fields.attempt
    : mark.episode > fields.episode;
}

function otherExecution(mark: IsolationMark): OwnershipRefusal {
  return {
    code: 'other-execution',
    message: `isolated by episode ${mark.episode}, attempt ${mark.attempt} (${mark.execution}), which alone may go on with it`,
  };
}
