import { type Clock, isoTime } from '../../lib/clock.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { MarkFields } from '../../lib/safety/ownership.ts';

/** What this attempt writes on a node beside what it does to it. */
export function markFields(
  ports: { clock: Clock; installation: string },
  state: WorkflowState,
  execution: string,
): MarkFields {
  return {
    installation: ports.installation,
    execution,
    episode: state.episode,
    attempt: state.attempt,
    at: isoTime(ports.clock.now()),
  };
}
