/** No look comes later than this after the one before. In seconds. */
const longest = 300;

/** A look comes after this part of the time that was waited already. */
const part = 8;

/**
 * Seconds until a loop looks again: at first as often as configured, then every eighth of the time
 * that it has waited already, and never past `endsInMs`. So the history of an execution stays short
 * however long the loop goes on, and an end is noticed at most an eighth late.
 */
export function secondsToNextLook(wait: {
  pollSeconds: number;
  /** Milliseconds that the loop has waited. */
  waitedMs: number;
  /** Milliseconds until its deadline; not positive when that is over. */
  endsInMs: number;
}): number {
  const paced = Math.max(wait.pollSeconds, Math.ceil(wait.waitedMs / 1000 / part));
  const capped = Math.min(paced, Math.max(longest, wait.pollSeconds));
  return wait.endsInMs > 0 ? Math.min(capped, Math.ceil(wait.endsInMs / 1000)) : capped;
}
