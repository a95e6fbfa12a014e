import { shouldRun } from '../gap/eligibility.ts';
import { isConditionFault } from '../gap/fault.ts';
import { keyOf } from '../kubernetes/objects.ts';
import type { Judgement } from './judge.ts';
import { policyIn } from './policy-in.ts';
import type { RecoveryFacts } from './recovery.ts';
import type { Situation } from './situation.ts';
import type { WorkflowState } from './workflow-state.ts';

/** What CheckRecovery decides on, by a situation and whether the node can be replaced. */
export function recoveryFactsOf(
  situation: Pick<Situation, 'config' | 'facts' | 'node' | 'place'>,
  judgement: Judgement,
  state: WorkflowState,
  irreplaceable: RecoveryFacts['irreplaceable'],
): RecoveryFacts {
  const { config, place } = situation;
  return {
    judgement,
    state,
    timings: config.timings,
    approvals: policyIn(config, state, { judgement, place }).policy,
    irreplaceable,
    restartable: restartable(situation, judgement),
  };
}

/** A restart only helps where the controller may put a pod back under the node's real taints. */
function restartable(
  { facts, node }: Pick<Situation, 'facts' | 'node'>,
  judgement: Judgement,
): boolean {
  if (judgement.kind !== 'act' || node === undefined) return false;
  const { primary } = judgement;
  if (isConditionFault(primary) || primary.pod === undefined) return false;
  const daemonSet = facts.daemonSets.find((candidate) => keyOf(candidate) === primary.daemonSet);
  return daemonSet !== undefined && shouldRun(node, daemonSet).run;
}
