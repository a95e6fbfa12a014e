/** What `nodegap remediate` tells without a terminal: a line for each thing that happens. */
import { isoTime } from '../lib/clock.ts';
import { printable } from '../lib/printable.ts';
import type { RemediateEvent } from '../local/remediate/events.ts';

/** The line of an event, or undefined where there is nothing to say. */
export function lineOf(event: RemediateEvent): string | undefined {
  const words = wordsOf(event);
  return words === undefined ? undefined : `${isoTime(event.at)} ${printable(words)}`;
}

function wordsOf(event: RemediateEvent): string | undefined {
  switch (event.kind) {
    case 'waiting':
      return `waits (${event.code}): ${event.message}; looks again at ${isoTime(event.until)}`;
    case 'started':
      return `begins attempt ${event.attempt} of episode ${event.episode}`;
    case 'entered':
      return event.type === 'Task' || event.type === 'Wait' ? event.state : undefined;
    case 'answered':
      return `${event.state}: ${event.code}: ${event.message}`;
    case 'failed':
      return `${event.state} failed: ${event.message}`;
    case 'scan-failed':
      return `beside it: ${event.message}`;
    case 'taken-over':
    case 'interrupted':
      return event.message;
    case 'asked':
      return `asks: ${event.approval.question}`;
    case 'decided':
      return event.decision === 'none'
        ? 'nobody answered, which is a no'
        : `${event.by} said ${event.decision}`;
    case 'notified':
      return undefined;
  }
}
