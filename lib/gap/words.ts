/** Small wordings that verdicts share. */
import { cutTo } from '../printable.ts';

/** A duration in its largest whole unit: `45 s`, `12 min`, `5 h`, `3 d`. Negative counts as 0. */
export function ago(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** `1 node`, `3 nodes`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The value of a field as evidence shows it: one that is there and empty is not absent. */
export function fieldText(value: string | undefined): string {
  return value === '' ? '""' : (value ?? 'absent');
}

/** As long as the note of an Event may be (k8s.io/kubernetes pkg/apis/core/validation/events.go). */
const longestMessage = 1024;

/** At most `length` characters of a message from outside, on one line. Tables cut it further. */
export function shorten(text: string, length = longestMessage): string {
  return cutTo(text.replace(/\s+/g, ' ').trim(), length);
}
