/** Where time comes from. Injected everywhere, so that tests and the demo own it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 in UTC with whole seconds, the form that Kubernetes objects use. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** Epoch milliseconds of an ISO time, or undefined when it is absent or unreadable. */
export function parseTime(iso: string | undefined): number | undefined {
  if (iso === undefined) return undefined;
  const epochMs = Date.parse(iso);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
