/** Bounds the size of a document. Pure: says in `cut` whatever it leaves out. */
import { count } from '../gap/words.ts';
import type { Evidence } from './document.ts';

/** Bytes of a document, at most: far more than a usual node has, which is under 500 KB. */
export const mostBytes = 2 * 1024 * 1024;
/** Characters of the message of one Event; Kubernetes itself bounds it by 1,024 for new Events. */
const longestMessage = 1_024;
const mostEvents = 500;

/**
 * The document within its bounds. What goes first is what is worth least: old Events, then all but
 * name and state of pods, the largest first, and at last whole pods.
 */
export function bounded(evidence: Evidence, limitBytes = mostBytes): Evidence {
  const all = evidence.events.map(shortened);
  const kept = { ...evidence, events: all.slice(0, mostEvents), cut: [...evidence.cut] };
  if (all.length > mostEvents) kept.cut.push(eventsCut(all.length - mostEvents));
  if (sizeOf(kept) <= limitBytes) return kept;

  const before = kept.events.length;
  while (kept.events.length > 0 && sizeOf(kept) > limitBytes) {
    kept.events = kept.events.slice(0, Math.floor(kept.events.length / 2));
  }
  if (kept.events.length < before) kept.cut.push(eventsCut(before - kept.events.length));
  if (sizeOf(kept) <= limitBytes) return kept;

  const pods = kept.objects.pods.map(inShort);
  kept.objects = { ...kept.objects, pods };
  kept.cut.push(`${count(pods.length, 'pod')} only by name, owner, phase and conditions`);
  let left = pods.length;
  while (left > 0 && sizeOf(kept) > limitBytes) {
    left = Math.floor(left / 2);
    kept.objects = { ...kept.objects, pods: pods.slice(0, left) };
  }
  if (left < pods.length) kept.cut.push(`${count(pods.length - left, 'pod')} altogether`);
  return kept;
}

function eventsCut(left: number): string {
  return `${count(left, 'Event')}, the oldest`;
}

function shortened(event: Record<string, unknown>): Record<string, unknown> {
  const { message } = event;
  return typeof message === 'string' && message.length > longestMessage
    ? { ...event, message: `${message.slice(0, longestMessage)} [cut: ${message.length} in all]` }
    : event;
}

function inShort({ metadata, status }: Record<string, unknown>): Record<string, unknown> {
  const { name, namespace, uid, ownerReferences } = metadata as Record<string, unknown>;
  const { phase, reason, conditions } = (status ?? {}) as Record<string, unknown>;
  return {
    metadata: { name, namespace, uid, ownerReferences },
    status: { phase, reason, conditions },
  };
}

function sizeOf(evidence: Evidence): number {
  return Buffer.byteLength(JSON.stringify(evidence));
}
