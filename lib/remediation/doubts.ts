import { conditionSubject } from '../gap/fault.ts';
import type { Detection, GapRecord, UnknownEntry } from '../gap/model.ts';
import { pairKey } from '../gap/records.ts';

/**
 * What of the unknown may hide that a fault goes on. A condition that cannot be told counts only
 * where it was a fault: a dead detector does not keep a node isolated for another fault.
 */
export function doubtsOf(
  { unknown }: Pick<Detection, 'unknown'>,
  records: readonly GapRecord[],
): UnknownEntry[] {
  const known = new Set(records.map(({ nodeUid, daemonSet }) => pairKey(nodeUid, daemonSet)));
  return unknown.filter(
    ({ nodeUid = '', condition }) =>
      condition === undefined || known.has(pairKey(nodeUid, conditionSubject(condition))),
  );
}
