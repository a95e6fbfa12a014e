/**
 * Who says on the node, by an Event, what a state of `remediate-node` did or refused. States that
 * only read a cluster have no right to write in it: the next one that has says it for them.
 */
import type { WorkflowState } from './workflow-state.ts';

/** A turn that a state took: its code becomes the reason of the Event. */
export interface Told {
  code: string;
  message: string;
}

/**
 * By state: the state itself, others (whichever comes next), Report with the outcome, or nobody
 * because nothing happens to the node. A test holds it against the machine.
 */
export const toldBy = {
  ConfirmGap: ['IsolateNode', 'Report'],
  AcquireSlot: ['IsolateNode', 'Report'],
  IsolateNode: ['IsolateNode', 'Report'],
  CheckRecovery: ['RestartDaemonPod', 'WaitForPerson', 'TaintNode', 'DrainNode', 'Report'],
  RestartDaemonPod: ['RestartDaemonPod'],
  WaitForPerson: ['WaitForPerson', 'TaintNode', 'Report'],
  TakePlaceAgain: ['TaintNode', 'DrainNode', 'ReplaceNode', 'Report'],
  TaintNode: ['TaintNode', 'Report'],
  DrainNode: ['DrainNode', 'Report'],
  WaitForPersonAboutDrain: ['WaitForPersonAboutDrain', 'DrainNode', 'ReplaceNode', 'Report'],
  ReplaceNode: ['ReplaceNode', 'Report'],
  VerifyReplacement: ['Report'],
  ReleaseNode: ['ReleaseNode'],
  ReleaseSlot: [],
  Report: ['Report'],
} as const satisfies Record<string, readonly string[]>;

/** What the states before left unsaid, for the acting state that comes next. */
export function unsaidBefore(
  acting: 'IsolateNode' | 'RestartDaemonPod' | 'TaintNode' | 'DrainNode' | 'ReplaceNode',
  state: WorkflowState,
): Told[] {
  const { confirm, slot, recovery, answer, place, taint, drain } = state;
  const answered: Told[] =
    answer !== undefined && ['approve', 'retry', 'proceed'].includes(answer.decision)
      ? [{ code: `answered-${answer.decision}`, message: `${answer.by} said ${answer.decision}` }]
      : [];
  const afterAnswer = [...answered, ...(place === undefined ? [] : [place])];
  switch (acting) {
    case 'IsolateNode':
      return present([confirm, slot]);
    case 'RestartDaemonPod':
      return present([recovery]);
    case 'TaintNode':
      return present([...afterAnswer, recovery]);
    case 'DrainNode':
      // Once for each time that it is begun, not for each pass.
      if (drain?.next === 'draining') return [];
      return present([...afterAnswer, taint === undefined ? recovery : undefined]);
    case 'ReplaceNode':
      return present(answer?.decision === 'proceed' ? afterAnswer : []);
  }
}

function present(turns: readonly (Told | undefined)[]): Told[] {
  return turns.flatMap((turn) =>
    turn === undefined ? [] : [{ code: turn.code, message: turn.message }],
  );
}
