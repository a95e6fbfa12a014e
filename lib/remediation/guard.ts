import type { Scope } from '../safety/scope.ts';
import type { Judgement } from './judge.ts';
import type { Situation } from './situation.ts';
import type { WorkflowState } from './workflow-state.ts';

export type Guarded =
  | { kind: 'go'; act: Extract<Judgement, { kind: 'act' }>; fence: number }
  /** The node has no fault now: nothing is destroyed, whether for good is for hold-up to tell. */
  | { kind: 'healthy'; code: 'recovered'; message: string }
  /** The fault is there but not ripe, or cannot be told: nothing is destroyed now. */
  | { kind: 'wait'; code: string; message: string; doubt: boolean }
  | { kind: 'refused'; code: string; message: string; scope?: Scope };

/**
 * Safety rule 2 of docs/safety.md, on facts read in this very invocation: same node, fault still
 * there and still blamed on the node, ceiling and mode still allow it, breaker closed, not paused,
 * no veto, and the slot still owned under the same fencing number. From isolation on the node must
 * also bear the mark of this very execution: without it somebody has undone the isolation, which
 * is a person's veto or another execution's work.
 */
export function guard(
  situation: Pick<Situation, 'judgement' | 'slots' | 'mark'>,
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
  if (slot.parkedAt !== undefined) {
    // Parked by a task that outlived its retry: its parallel place may be another node's by now.
    const message = `the slot of ${state.node} waits for a person, and has no parallel place`;
    return { kind: 'refused', code: 'slot-parked', message };
  }
  const { judgement } = situation;
  const isIsolated = state.isolation?.next === 'isolated';
  if (isIsolated && judgement.kind !== 'gone' && judgement.kind !== 'refuse') {
    const undone = undoneBySomeone(situation, execution);
    if (undone !== undefined) return { kind: 'refused', ...undone };
  }
  switch (judgement.kind) {
    case 'act':
      if (judgement.canaryFor !== undefined && slot.canaryFor !== judgement.canaryFor) {
        return {
          kind: 'refused',
          code: 'canary-not-taken',
          message: `the blame for ${judgement.canaryFor} has become unclear, and this node is not its canary`,
        };
      }
      return { kind: 'go', act: judgement, fence: slot.fence };
    case 'healthy':
      return { kind: 'healthy', code: 'recovered', message: judgement.message };
    case 'wait':
      return judgement;
    case 'gone':
      return { kind: 'refused', code: judgement.code, message: judgement.message };
    case 'refuse': {
      const { code, message, scope } = judgement;
      return { kind: 'refused', code, message, ...(scope === undefined ? {} : { scope }) };
    }
  }
}

/** Why the isolation of a node that `execution` isolated does not stand any more, if so. */
export function undoneBySomeone(
  { mark }: Pick<Situation, 'mark'>,
  execution: string,
): { code: string; message: string } | undefined {
  if (mark.kind !== 'ours') return { code: 'mark-missing', message: 'someone undid the isolation' };
  return mark.mark.execution === execution
    ? undefined
    : {
        code: 'other-execution',
        message: `isolated by ${mark.mark.execution}, which alone may go on with it`,
      };
}
