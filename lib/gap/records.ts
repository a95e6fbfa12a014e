/** What is remembered of gaps from one scan to the next. */
import { conditionSubject, faultsOf, subjectOf } from './fault.ts';
import type { Detection, GapRecord } from './model.ts';

/** The key of a gap record: one per node uid and subject of a fault (`subjectOf`). */
export function pairKey(nodeUid: string, daemonSet: string): string {
  return `${nodeUid} ${daemonSet}`;
}

/**
 * No scan takes longer than this by far. A time that lies further ahead was not written by a younger
 * scan, but under a clock that was wrong.
 */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;

export interface RecordChanges {
  /** All records after the scan, changed, new or as they were. */
  keep: GapRecord[];
  /** Records of gaps that have been healthy for hold-up, as they were last. */
  removed: GapRecord[];
}

/** What a scan says of the pair of a record. */
type Sight = 'gap' | 'unknown' | 'healthy';

/**
 * The records after a scan at `now` (epoch ms). Pure.
 *
 * A gap that is seen again goes on under its record, whatever its cause has become. One that is not
 * seen has to stay away for `holdUpMs` before its record goes. A pair of which nothing can be said
 * has not recovered: its record stays and hold-up starts over. A scan older than what a record knows
 * changes nothing of it, and the same scan twice is the same as once. A record with times that lie
 * ahead of every clock begins anew, since its age is not known. A pair that is no longer looked at
 * (node gone, DaemonSet gone or no longer required) counts as healthy.
 */
export function nextRecords(
  previous: readonly GapRecord[],
  detection: Detection,
  now: number,
  { holdUpMs }: { holdUpMs: number },
): RecordChanges {
  const sightOf = sightsOf(detection);
  const changes: RecordChanges = { keep: [], removed: [] };
  const known = new Set<string>();
  for (const record of previous) {
    known.add(pairKey(record.nodeUid, record.daemonSet));
    const next = afterSight(record, sightOf(record), now);
    const healed = next.healthySince !== undefined && now - next.healthySince >= holdUpMs;
    if (healed && sightOf(record) === 'healthy') changes.removed.push(next);
    else changes.keep.push(next);
  }
  for (const fault of faultsOf(detection)) {
    const { nodeUid } = fault;
    const daemonSet = subjectOf(fault);
    if (known.has(pairKey(nodeUid, daemonSet))) continue;
    changes.keep.push({
      nodeUid,
      daemonSet,
      firstSeen: now,
      lastSeen: now,
      sightings: 1,
      flaps: 0,
    });
  }
  return changes;
}

function afterSight(record: GapRecord, sight: Sight, now: number): GapRecord {
  const { healthySince, ...rest } = record;
  if (Math.max(record.lastSeen, healthySince ?? 0) - now > CLOCK_TOLERANCE_MS) {
    return afterWrongClock(record, sight, now);
  }
  if (now <= record.lastSeen || (healthySince !== undefined && now < healthySince)) return record;
  switch (sight) {
    case 'gap':
      return {
        ...rest,
        lastSeen: now,
        sightings: record.sightings + 1,
        flaps: record.flaps + (healthySince === undefined ? 0 : 1),
      };
    case 'unknown':
      return healthySince === undefined ? record : { ...rest, healthySince: now };
    case 'healthy':
      return { ...rest, healthySince: healthySince ?? now };
  }
}

/** Nothing is acted on before it has been seen for long enough by clocks that agree. */
function afterWrongClock(record: GapRecord, sight: Sight, now: number): GapRecord {
  const { nodeUid, daemonSet, flaps } = record;
  const anew = { nodeUid, daemonSet, firstSeen: now, lastSeen: now, sightings: 1, flaps };
  if (sight === 'gap') return anew;
  return { ...anew, sightings: 0, ...(sight === 'healthy' ? { healthySince: now } : {}) };
}

function sightsOf(detection: Detection): (record: GapRecord) => Sight {
  const gaps = new Set(
    faultsOf(detection).map((fault) => pairKey(fault.nodeUid, subjectOf(fault))),
  );
  const pairs = new Set<string>();
  const nodes = new Set(
    (detection.leftOut ?? []).flatMap(({ kind, nodeUid }) => (kind === 'leaving' ? [nodeUid] : [])),
  );
  const daemonSets = new Set<string>();
  for (const { node, nodeUid, condition, ...entry } of detection.unknown) {
    const daemonSet = condition === undefined ? entry.daemonSet : conditionSubject(condition);
    if (nodeUid !== undefined && daemonSet !== undefined) pairs.add(pairKey(nodeUid, daemonSet));
    else if (nodeUid !== undefined) nodes.add(nodeUid);
    else if (daemonSet !== undefined && node === undefined) daemonSets.add(daemonSet);
  }
  return (record) => {
    const key = pairKey(record.nodeUid, record.daemonSet);
    if (gaps.has(key)) return 'gap';
    const unknown = pairs.has(key) || nodes.has(record.nodeUid) || daemonSets.has(record.daemonSet);
    return unknown ? 'unknown' : 'healthy';
  };
}
