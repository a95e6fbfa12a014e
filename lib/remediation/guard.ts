import type { Judgement } from './judge.ts';
import type { Situation } from './situation.ts';
import type { WorkflowState } from './workflow-state.ts';

export type Guarded =
  | { kind: 'go'; act: Extract<Judgement, { kind: 'act' }>; fence: number }
  /** The node has no fault now: nothing is destroyed, whether for good is for hold-up to tell. */
  | { kind: 'healthy'; code: 'recovered'; message: string }
  /** The fault is there but not ripe, or cannot be told: nothing is destroyed now. */
  | { kind: 'wait'; code: string; message: string }
  | { kind: 'refused'; code: string; message: string };

/**
 * Safety rule 2 of docs/safety.md, on facts read in this very invocation: same node, fault still
 * there and still blamed on the node, ceiling and mode still allow it, breaker closed, not paused,
 * no veto, and the slot still owned under the same fencing number.
 */
export function guard(
  situation: Pick<Situation, 'judgement' | 'slots'>,
  state: WorkflowState,
  execution: string,
): Guarded {
  const slot = situation.slots.find((candidate) => candidate.nodeUid === state.nodeUid);
  if (
    slot === undefined ||
    slot.execution !== execution ||
    slot.episode !== state.episode ||
    slot.fence !== (state.place?.fence || state.slot?.fence)
  ) {
    return {
      kind: 'refused',
      code: 'slot-lost',
      message: 'the right to work on this node belongs to another execution',
    };
  }
  const { judgement } = situation;
  switch (judgement.kind) {
    case 'act':
      return { kind: 'go', act: judgement, fence: slot.fence };
    case 'healthy':
      return { kind: 'healthy', code: 'recovered', message: judgement.message };
    case 'wait':
      return { kind: 'wait', code: judgement.code, message: judgement.message };
    case 'gone':
    case 'refuse':
      return { kind: 'refused', code: judgement.code, message: judgement.message };
  }
}
