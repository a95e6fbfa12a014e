import { formatDuration } from '../../lib/config/duration.ts';

const minute = 60_000;

/** A time that is left, to the second when it is short: `45s`, `12m`, `11h59m`. */
export function leftText(ms: number): string {
  if (ms <= 2 * minute) return formatDuration(Math.max(0, Math.ceil(ms / 1000)));
  return formatDuration(Math.ceil(ms / minute) * 60);
}

/** A time that has passed: `45s`, `12m5s`, `2h10m`. */
export function tookText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return formatDuration(seconds < 3600 ? seconds : Math.round(seconds / 60) * 60);
}
