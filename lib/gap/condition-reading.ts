/**
 * What one node says by a configured condition, and whether that may be believed.
 *
 * Gotchas, all of detectors that are in use:
 * - A detector that died leaves its last word standing: only a fresh heartbeat counts.
 * - One that restarts says that all is well before it has looked again, so the end of a fault is
 *   believed only when it has lasted.
 * - The reason of a fault that goes on may change, also to one that is not configured.
 */
import { isoTime, parseTime } from '../clock.ts';
import { type Condition, conditionOf, type Node } from '../kubernetes/objects.ts';
import { type ConditionMatch, ruleFor } from './condition-rules.ts';
import type { ConditionRule, GapRecord } from './model.ts';
import { ago } from './words.ts';

export const CONDITION_MISSING = 'condition-missing';
export const CONDITION_STALE = 'condition-stale';
export const CONDITION_SETTLING = 'condition-settling';
export const CONDITION_NODE_NOT_READY = 'condition-node-not-ready';

export type ConditionReading<R extends ConditionMatch = ConditionRule> =
  /** Nothing is said, and nothing was. */
  | { kind: 'silent' }
  | { kind: 'well' }
  | { kind: 'fault'; condition: Condition; rule: R }
  /** Nothing can be said; `reason` is that of the unknown entry. */
  | { kind: 'unknown'; reason: string; message: string; condition?: Condition };

/**
 * Detectors report at least every 5 minutes (node-problem-detector's --k8s-exporter-heartbeat-period,
 * the kubelet's nodeStatusReportFrequency): three reports were missed.
 */
const STALE_MS = 15 * 60_000;
/** A clock this much ahead makes the time of a report worth nothing: it would never grow old. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * Reads the condition of `type` on a node that is Ready, at `now` (epoch ms). `record`: of the fault
 * that is there already. `settleMs`: how long the end of a fault must last to be believed.
 */
export function readCondition<R extends ConditionMatch>(
  node: Node,
  type: string,
  {
    rules,
    record,
    settleMs,
    now,
  }: {
    rules: readonly R[];
    record: Pick<GapRecord, 'healthySince'> | undefined;
    settleMs: number;
    now: number;
  },
): ConditionReading<R> {
  const condition = conditionOf(node.status.conditions, type);
  if (condition === undefined) {
    if (record === undefined) return { kind: 'silent' };
    const message = `the node no longer has a condition ${type}, so nothing says that it is well again`;
    return { kind: 'unknown', reason: CONDITION_MISSING, message };
  }
  const rule = ruleFor(rules, condition) ?? goesOn(rules, condition, record);
  const stale = staleness(node, condition, now);
  if (stale !== undefined) {
    const concerns = rule !== undefined || record !== undefined || stale.detectorIsDead;
    return concerns
      ? { kind: 'unknown', reason: CONDITION_STALE, message: stale.message, condition }
      : { kind: 'silent' };
  }
  if (rule !== undefined) return { kind: 'fault', condition, rule };
  const since = parseTime(condition.lastTransitionTime);
  if (record !== undefined && since !== undefined && now - since < settleMs) {
    const message = `${type} became ${condition.status} ${ago(now - since)} ago, which a detector that restarts says too`;
    return { kind: 'unknown', reason: CONDITION_SETTLING, message, condition };
  }
  return { kind: 'well' };
}

/** A fault goes on for as long as the status stays, whatever the reason has become. */
function goesOn<R extends ConditionMatch>(
  rules: readonly R[],
  { type, status }: Condition,
  record: Pick<GapRecord, 'healthySince'> | undefined,
): R | undefined {
  if (record === undefined || record.healthySince !== undefined) return undefined;
  return rules.find((rule) => rule.type === type && rule.status === status);
}

/** Why the condition cannot be believed, if so. */
function staleness(
  node: Node,
  { type, status, lastHeartbeatTime }: Condition,
  now: number,
): { message: string; detectorIsDead: boolean } | undefined {
  const heartbeat = parseTime(lastHeartbeatTime);
  const says = `condition ${type}=${status}`;
  if (heartbeat === undefined) {
    const message = `${says} has no lastHeartbeatTime: nothing shows that its detector is alive`;
    return { message, detectorIsDead: false };
  }
  if (now - heartbeat >= STALE_MS) {
    const message = `${says} was last reported at ${isoTime(heartbeat)}, ${ago(now - heartbeat)} ago: its detector may be dead`;
    return { message, detectorIsDead: true };
  }
  if (heartbeat - now > CLOCK_TOLERANCE_MS) {
    const message = `${says} was last reported at ${isoTime(heartbeat)}, which lies in the future: the clock of the node is wrong`;
    return { message, detectorIsDead: false };
  }
  const readySince = parseTime(conditionOf(node.status.conditions, 'Ready')?.lastTransitionTime);
  if (readySince !== undefined && heartbeat < readySince) {
    const message = `${says} was last reported at ${isoTime(heartbeat)}, before the node became Ready at ${isoTime(readySince)}`;
    return { message, detectorIsDead: false };
  }
  return undefined;
}
