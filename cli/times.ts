import { UsageError } from '../lib/errors.ts';

const isoForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Epoch ms of the value of `--now`. @throws UsageError when it is no ISO 8601 time with a zone. */
export function parseNow(text: string): number {
  const epochMs = isoForm.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(epochMs)) return epochMs;
  if (!Number.isNaN(Date.parse(`${text}Z`)) && isoForm.test(`${text}Z`)) {
    throw new UsageError(`--now: "${text}" has no time zone; add Z`, {
      hint: 'or the offset of the zone, for example +02:00',
    });
  }
  throw new UsageError(`--now: "${text}" is not a time`, {
    hint: 'write it as ISO 8601 with a zone, for example 2026-11-29T12:00:00Z',
  });
}

/** Keys of Kubernetes objects that hold a time at which something had happened already. */
const pastTimes = new Set([
  'creationTimestamp',
  'lastTransitionTime',
  'lastHeartbeatTime',
  'startTime',
  'startedAt',
  'finishedAt',
  'firstTimestamp',
  'lastTimestamp',
  'eventTime',
  'timeAdded',
  'lastProbeTime',
]);

/** The newest time in raw Kubernetes objects: when their dump was taken, or a little before. */
export function newestTime(raw: unknown): number | undefined {
  let newest: number | undefined;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      if (typeof part === 'string' && pastTimes.has(key)) {
        const at = Date.parse(part);
        if (!Number.isNaN(at) && (newest === undefined || at > newest)) newest = at;
      } else {
        visit(part);
      }
    }
  };
  visit(raw);
  return newest;
}
