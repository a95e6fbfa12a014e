import { type AppliedPolicy, policyFor } from '../config/approval-policy.ts';
import type { Config } from '../config/model.ts';
import { faultCauses } from '../gap/fault.ts';
import type { Situation } from './situation.ts';
import type { WorkflowState } from './workflow-state.ts';

/**
 * The approval policy for the node of an attempt, on its pool and on what it is acted on for now.
 * Where that cannot be told, the cause that the attempt was confirmed with stands for it.
 */
export function policyIn(
  config: Config,
  state: WorkflowState,
  situation: Pick<Situation, 'judgement' | 'place'> | undefined,
): AppliedPolicy {
  const { judgement, place } = situation ?? {};
  const known = faultCauses.filter((cause) => cause === state.confirm?.cause);
  const causes = judgement?.kind === 'act' ? judgement.gaps.map(({ cause }) => cause) : known;
  return policyFor(config.approvals, { pool: place?.pool, causes });
}
