import { parseTime } from '../clock.ts';
import type { Pod } from '../kubernetes/objects.ts';

const doNotDisrupt = 'karpenter.sh/do-not-disrupt';
const safeToEvict = 'cluster-autoscaler.kubernetes.io/safe-to-evict';

/** The annotation by which a pod's owner asks that it not be disturbed. */
export interface Protection {
  code: 'do-not-disrupt' | 'not-safe-to-evict';
  message: string;
}

/**
 * How a pod is protected at `now` (epoch ms), if it is. `karpenter.sh/do-not-disrupt` is `true` or
 * a duration counted from the pod's start; Karpenter takes any other value for none, and so is it
 * here. A duration without a start time protects.
 */
export function protectionOf(pod: Pod, now: number): Protection | undefined {
  const { annotations = {} } = pod.metadata;
  const value = annotations[doNotDisrupt];
  if (value !== undefined && isProtected(value, parseTime(pod.status.startTime), now)) {
    return { code: 'do-not-disrupt', message: `has the annotation ${doNotDisrupt}=${value}` };
  }
  if (annotations[safeToEvict] === 'false') {
    return { code: 'not-safe-to-evict', message: `has the annotation ${safeToEvict}=false` };
  }
  return undefined;
}

function isProtected(value: string, startedAt: number | undefined, now: number): boolean {
  if (value === 'true') return true;
  const forMs = parseGoDuration(value);
  if (forMs === undefined || forMs <= 0) return false;
  return startedAt === undefined || now - startedAt < forMs;
}

const unitMs: Record<string, number> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

/** Milliseconds of a duration as Go's time.ParseDuration reads it, without a sign. */
function parseGoDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d*)?(h|ms|us|µs|ns|m|s))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?)(h|ms|us|µs|ns|m|s)/g)) {
    total += Number(amount) * (unitMs[unit ?? ''] ?? 0);
  }
  return total;
}
