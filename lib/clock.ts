/** Where time comes from. Injected everywhere, so that tests and the demo own it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** The farthest from the epoch that a Date can be (ECMA-262, "Time Values and Time Range"). */
const farthestMs = 8.64e15;

/**
 * ISO 8601 in UTC with whole seconds, the form that Kubernetes objects use. Total: a time before or
 * after all that a Date can say is given as the nearest that it can, and NaN as `unknown`.
 */
export function isoTime(epochMs: number): string {
  if (Number.isNaN(epochMs)) return 'unknown';
  const time = Math.min(farthestMs, Math.max(-farthestMs, epochMs));
  return new Date(time).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** Epoch milliseconds of an ISO time, or undefined when it is absent or unreadable. */
export function parseTime(iso: string | undefined): number | undefined {
  if (iso === undefined) return undefined;
  const epochMs = Date.parse(iso);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
