import { parseTime } from '../clock.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A time span as kubectl shows ages: its largest one or two units, `45s`, `55m`, `3h20m`, `12d`. */
export function ageText(ms: number): string {
  if (ms < 0) return '0s';
  if (ms < 2 * minute) return `${Math.floor(ms / 1000)}s`;
  if (ms < 3 * hour) return `${Math.floor(ms / minute)}m`;
  if (ms < 2 * day) {
    const minutes = Math.floor((ms % hour) / minute);
    return `${Math.floor(ms / hour)}h${ms < 8 * hour && minutes > 0 ? `${minutes}m` : ''}`;
  }
  return `${Math.floor(ms / day)}d`;
}

/** How long ago an ISO time was at `now` (epoch ms). */
export function ageSince(iso: string | undefined, now: number): string {
  const at = parseTime(iso);
  return at === undefined ? 'unknown time' : ageText(now - at);
}
