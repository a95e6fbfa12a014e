/**
 * From one judgement to the next: which gaps opened, changed and closed. Pure.
 *
 * A gap that only goes with the start or the update of a pod (`isPassing`) is kept in mind but not
 * told of: in a rollout every node has one for a while. It is told of as soon as it is more than
 * that, with the time at which it began. What cannot be judged any more has not closed.
 */
import {
  conditionSubject,
  type FaultCause,
  faultsOf,
  isConditionFault,
  subjectOf,
} from '../gap/fault.ts';
import type { ClusterFacts, Detection, Fault, GapRecord, UnknownEntry } from '../gap/model.ts';
import { daemonSetUidOf, targetNodeOf } from '../gap/pod-target.ts';
import { nextRecords, pairKey } from '../gap/records.ts';
import { conditionOf } from '../kubernetes/objects.ts';
import type { Closing, LiveEvent } from './model.ts';

interface OpenGap {
  gap: Fault;
  since: number;
  /** Whether it was told of. */
  told: boolean;
}

interface UnknownThing {
  node?: string;
  daemonSet?: string;
  reason: string;
  since: number;
}

/** What is remembered between judgements. */
export interface LiveMemory {
  records: ReadonlyMap<string, GapRecord>;
  open: ReadonlyMap<string, OpenGap>;
  unknown: ReadonlyMap<string, UnknownThing>;
}

export interface TrackOptions {
  holdUpMs: number;
  /** Tell of passing gaps and of nodes that are being set up, too. */
  all: boolean;
}

const passingCauses: readonly FaultCause[] = ['starting', 'rollout', 'terminating', 'missing'];

/**
 * True for what goes with the start or update of a pod, or is a condition, and is younger than its
 * grace.
 */
export function isPassing(gap: Fault): boolean {
  return !gap.pastGrace && (isConditionFault(gap) || passingCauses.includes(gap.cause));
}

/**
 * The memory after a judgement, and what to tell. Without memory it is the first one: gaps that are
 * there began as long ago as the times of node and pod tell.
 */
export function track(
  memory: LiveMemory | undefined,
  detection: Detection,
  facts: ClusterFacts,
  options: TrackOptions,
): { memory: LiveMemory; events: LiveEvent[] } {
  const { now } = detection;
  const records = recordsAfter(memory, detection, options.holdUpMs);
  const open = new Map<string, OpenGap>();
  const events: LiveEvent[] = [];
  for (const gap of faultsOf(detection)) {
    const key = pairKey(gap.nodeUid, subjectOf(gap));
    const before = memory?.open.get(key);
    const since = before?.since ?? (memory === undefined ? gap.since : now);
    const told = before?.told === true || options.all || !isPassing(gap);
    open.set(key, { gap, since, told });
    if (told && before?.told !== true) {
      const flaps = records.get(key)?.flaps ?? 0;
      events.push({ type: 'opened', at: now, gap, since, before: memory === undefined, flaps });
    } else if (told && before !== undefined && isOther(before.gap, gap)) {
      const { cause, blame } = before.gap;
      events.push({ type: 'changed', at: now, gap, since, was: { cause, blame } });
    }
  }
  const unknownPairs = new UnknownPairs(detection);
  const closingOf = closings(detection, facts);
  for (const [key, before] of memory?.open ?? []) {
    if (open.has(key)) continue;
    if (unknownPairs.has(before.gap)) {
      open.set(key, before);
    } else if (before.told) {
      const { gap, since } = before;
      events.push({ type: 'closed', at: now, gap, since, closing: closingOf(gap) });
    }
  }
  const told = new Set([...open].flatMap(([key, gap]) => (gap.told ? [key] : [])));
  const unknown = unknownAfter(memory, detection, told, options.all, events);
  return { memory: { records, open, unknown }, events };
}

function recordsAfter(
  memory: LiveMemory | undefined,
  detection: Detection,
  holdUpMs: number,
): Map<string, GapRecord> {
  const before: GapRecord[] =
    memory === undefined
      ? faultsOf(detection).map((fault) => ({
          nodeUid: fault.nodeUid,
          daemonSet: subjectOf(fault),
          firstSeen: fault.since,
          lastSeen: fault.since,
          sightings: 0,
          flaps: 0,
        }))
      : [...memory.records.values()];
  const { keep } = nextRecords(before, detection, detection.now, { holdUpMs });
  return new Map(keep.map((record) => [pairKey(record.nodeUid, record.daemonSet), record]));
}

function isOther(a: Fault, b: Fault): boolean {
  return a.cause !== b.cause || a.blame !== b.blame;
}

function subjectOfUnknown({ daemonSet, condition }: UnknownEntry): string | undefined {
  return condition === undefined ? daemonSet : conditionSubject(condition);
}

/** Pairs of which a detection says that nothing can be said. */
class UnknownPairs {
  readonly #pairs = new Set<string>();
  readonly #nodes = new Set<string>();

  constructor({ unknown }: Detection) {
    for (const entry of unknown) {
      const { nodeUid } = entry;
      if (nodeUid === undefined) continue;
      const daemonSet = subjectOfUnknown(entry);
      if (daemonSet === undefined) this.#nodes.add(nodeUid);
      else this.#pairs.add(pairKey(nodeUid, daemonSet));
    }
  }

  has(fault: Fault): boolean {
    const { nodeUid } = fault;
    return this.#nodes.has(nodeUid) || this.#pairs.has(pairKey(nodeUid, subjectOf(fault)));
  }
}

/** Says how gaps closed; looks through the pods once, and only when there is one to tell of. */
function closings(detection: Detection, facts: ClusterFacts): (gap: Fault) => Closing {
  const nodes = new Set(facts.nodes.map(({ metadata }) => metadata.uid));
  const leaving = new Set((detection.leftOut ?? []).map(({ nodeUid }) => nodeUid));
  let ready: Set<string> | undefined;
  return (fault) => {
    const { node, nodeUid } = fault;
    if (!nodes.has(nodeUid)) return 'node-gone';
    if (leaving.has(nodeUid)) return 'node-leaving';
    if (isConditionFault(fault)) return 'recovered';
    ready ??= readyPairs(facts);
    return ready.has(`${node} ${fault.daemonSetUid}`) ? 'recovered' : 'not-meant';
  };
}

function readyPairs({ pods }: ClusterFacts): Set<string> {
  return new Set(
    pods
      .filter(({ status }) => conditionOf(status.conditions, 'Ready')?.status === 'True')
      .map((pod) => `${targetNodeOf(pod)} ${daemonSetUidOf(pod)}`),
  );
}

/** Adds what is unknown now and was not, and what is known again, to `events`. */
function unknownAfter(
  memory: LiveMemory | undefined,
  { unknown, now }: Detection,
  told: ReadonlySet<string>,
  all: boolean,
  events: LiveEvent[],
): Map<string, UnknownThing> {
  const after = new Map<string, UnknownThing>();
  for (const entry of unknown) {
    const { node, nodeUid, reason, message } = entry;
    const daemonSet = subjectOfUnknown(entry);
    // A node that is being set up is news only where a gap was told of.
    const pair = `${nodeUid} ${daemonSet}`;
    if (reason === 'node-initialising' && !all && !told.has(pair)) continue;
    const key = `${pair} ${reason}`;
    const what = {
      ...(node === undefined ? {} : { node }),
      ...(daemonSet === undefined ? {} : { daemonSet }),
      reason,
    };
    const since = memory?.unknown.get(key)?.since ?? now;
    after.set(key, { ...what, since });
    if (memory?.unknown.has(key) !== true) {
      events.push({ type: 'unknown', at: now, ...what, message });
    }
  }
  for (const [key, { since, ...what }] of memory?.unknown ?? []) {
    if (!after.has(key)) events.push({ type: 'resync', at: now, ...what, forMs: now - since });
  }
  return after;
}
