import type { SlotRequest } from '../safety/slots.ts';
import type { Judgement } from './judge.ts';
import type { Situation } from './situation.ts';
import type { WorkflowState } from './workflow-state.ts';

/** What AcquireSlot asks for, on the counts of the read that it judges on. */
export function slotRequestOf(
  { facts, counts, place }: Pick<Situation, 'facts' | 'counts' | 'place'>,
  act: Extract<Judgement, { kind: 'act' }>,
  { cluster, node, nodeUid, episode, attempt }: WorkflowState,
  execution: string,
): SlotRequest {
  return {
    cluster,
    node,
    nodeUid,
    ...place,
    execution,
    episode,
    attempt,
    counts,
    countedAt: facts.readAt,
    ...(act.canaryFor === undefined ? {} : { canaryFor: act.canaryFor }),
  };
}
