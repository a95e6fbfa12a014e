/** A live event as one object of `nodegap scan --watch -o json` (docs/cli.md): keys are only added. */
import { isoTime } from '../clock.ts';
import { isConditionFault } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import type { LiveEvent } from './model.ts';

export function liveJson(event: LiveEvent): Record<string, unknown> {
  const { type, at, ...rest } = event;
  const head = { type, at: isoTime(at) };
  switch (event.type) {
    case 'opened':
      return {
        ...head,
        ...gapKeys(event.gap, event.since),
        before: event.before,
        flaps: event.flaps,
      };
    case 'changed':
      return { ...head, ...gapKeys(event.gap, event.since), was: event.was };
    case 'closed':
      return {
        ...head,
        ...gapKeys(event.gap, event.since),
        closing: event.closing,
        openSeconds: seconds(at - event.since),
      };
    case 'resync': {
      const { type: _type, at: _at, forMs, ...what } = event;
      return { ...head, ...what, seconds: seconds(forMs) };
    }
    default:
      return { ...head, ...rest };
  }
}

function gapKeys(gap: Fault, since: number): Record<string, unknown> {
  const subject = isConditionFault(gap)
    ? { condition: gap.condition }
    : { daemonSet: gap.daemonSet };
  const { node, cause, blame, pastGrace, required, message } = gap;
  return { node, ...subject, cause, blame, since: isoTime(since), pastGrace, required, message };
}

function seconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1000));
}
