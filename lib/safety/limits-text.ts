/** How limits are said in refusals: the numbers, where they come from and how they were compared. */
import type { ScopeCount } from './scope-counts.ts';

interface Limit extends Pick<ScopeCount, 'limit' | 'total'> {
  percent?: number | undefined;
  most?: number | undefined;
}

/** For example `limit 2 (20 % of 10, rounded down, at least 1)`. */
export function limitText({ limit, total, percent, most }: Limit): string {
  if (percent === undefined) return `limit ${limit}`;
  if (percent === 0) return `limit ${limit} (0 %: never act)`;
  const share = `${percent} % of ${total}, rounded down, at least 1`;
  return most !== undefined && most === limit
    ? `limit ${limit} (maxUnhealthyNodes ${most}, not more than ${share})`
    : `limit ${limit} (${share})`;
}

/** For example `1 node in work, limit 1 (breaker.parallelPerPool); refused because 1 >= 1`. */
export function capText(
  count: number,
  what: readonly [one: string, many: string],
  cap: Cap,
): string {
  return `${count} ${count === 1 ? what[0] : what[1]}, limit ${cap.limit} (breaker.${cap.key}); refused because ${count} >= ${cap.limit}`;
}

interface Cap {
  limit: number;
  /** Its key in the configuration. */
  key: string;
}
