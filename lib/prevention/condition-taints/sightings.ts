/** Sightings without a break, and when one counts as broken. */
import type { Sighting } from './model.ts';

/** So long nodegap may have looked away without the sightings counting as broken. */
function longestBreakMs(scanMs: number): number {
  return Math.max(10 * 60_000, 5 * scanMs);
}

/** One item of memory for each of these. */
export function sightingKey({ nodeUid, rule }: Pick<Sighting, 'nodeUid' | 'rule'>): string {
  return `${nodeUid}#${rule}`;
}

/**
 * The sighting after one at `now` (epoch ms). It is the same object as before while `last` is young
 * enough, so that one that lasts is not written every minute.
 */
export function newSighting(
  before: Sighting | undefined,
  about: Pick<Sighting, 'nodeUid' | 'rule' | 'seen'>,
  scanMs: number,
  now: number,
): Sighting {
  const longest = longestBreakMs(scanMs);
  if (before === undefined || before.seen !== about.seen || now - before.last > longest) {
    return { ...about, since: now, last: now };
  }
  return now - before.last < longest / 3 ? before : { ...before, last: now };
}
