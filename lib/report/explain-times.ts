import type { Config } from '../config/model.ts';
import type { Fault } from '../gap/model.ts';

/** Moments of a gap, epoch ms; absent when neither node nor pod tells its age. */
export interface GapMoments {
  graceEndsAt?: number;
  /** Before this the gap is not confirmed, however many scans have seen it. */
  confirmedFrom?: number;
}

/** When the grace of a fault ends, and from when on it can be confirmed. */
export function timesOf({ graceEndsAt, since }: Fault, { timings }: Config): GapMoments {
  if (graceEndsAt === undefined) return {};
  const confirmedFrom = Math.max(graceEndsAt, since) + timings.confirmation * 1000;
  return { graceEndsAt, confirmedFrom };
}
