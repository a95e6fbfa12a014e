/** What a measured process says of itself (preload.js). */
export interface ClientReport {
  /** User and system time. */
  cpuMs: number;
  /** Bytes. */
  peakRss: number;
  requests: number;
  /** Bytes of answers, headers included, as they came (compressed answers compressed). */
  bytes: number;
  connections: number;
  /** Requests at one time. */
  maxInFlight: number;
  /** How many answers had which HTTP status. */
  statuses: Record<string, number>;
}

/** Where a report in between goes. */
export function markFile(reportFile: string): string {
  return `${reportFile}.mark`;
}
