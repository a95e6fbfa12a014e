/** Keeps the chronicle of a scenario from its events. */
import type { Chronicle } from './ending.ts';
import type { DemoEvent } from './events.ts';

/** Notes one event down. */
export function record(chronicle: Chronicle, event: DemoEvent): void {
  switch (event.kind) {
    case 'happened':
      chronicle.happenings.push(event.happening);
      return;
    case 'scanned':
      chronicle.scans.push({ at: event.at, result: event.result });
      return;
    case 'notified':
      chronicle.notices.push({ at: event.at, notice: event.notice });
      return;
    case 'failed':
      chronicle.failures.push(event.message);
      return;
    case 'entered':
    case 'answered':
    case 'ended': {
      const attempt = attemptOf(chronicle, event);
      if (event.kind === 'answered' && event.state === 'Report') {
        attempt.outcome = { code: event.code, message: event.message };
      }
      if (event.kind === 'ended') {
        attempt.endedAt = event.at;
        attempt.status = event.status;
      }
      return;
    }
    case 'staged':
    case 'wrote':
      return;
  }
}

function attemptOf(
  chronicle: Chronicle,
  { at, execution, input }: Extract<DemoEvent, { kind: 'entered' | 'answered' | 'ended' }>,
) {
  const known = chronicle.attempts.find((attempt) => attempt.execution === execution);
  if (known !== undefined) return known;
  const { node, nodeUid } = input;
  const attempt: Chronicle['attempts'][number] = { execution, node, nodeUid, startedAt: at };
  chronicle.attempts.push(attempt);
  return attempt;
}
