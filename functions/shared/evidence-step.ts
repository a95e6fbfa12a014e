import type { EvidencePhase } from '../../lib/evidence/document.ts';
import { type KeptEvidence, keepEvidence } from '../../lib/evidence/keep.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import type { Judgement } from '../../lib/remediation/judge.ts';
import type { Situation } from '../../lib/remediation/situation.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { Ports } from './ports.ts';
import { attemptIds } from './task.ts';

export type EvidenceKeepingPorts = Pick<
  Ports,
  'clock' | 'installation' | 'evidence' | 'version' | 'log'
>;

/**
 * Saves what the node is, before the drain or the replacement, once the guards let it go on. What
 * it takes is time: whatever is to be destroyed is to be judged again after it.
 */
export async function keepEvidenceOf(
  ports: EvidenceKeepingPorts,
  reader: ClusterReader,
  occasion: {
    phase: EvidencePhase;
    situation: Situation;
    act: Extract<Judgement, { kind: 'act' }>;
    state: WorkflowState;
    execution: string;
  },
): Promise<KeptEvidence> {
  const { phase, act, state, execution } = occasion;
  const { loaded, mark, claim, config } = occasion.situation;
  const kept = await keepEvidence(ports, reader, {
    state,
    execution,
    phase,
    situation: { loaded, mark, claim, judgement: act },
    policy: config.evidence.policy,
  });
  const ids = attemptIds(state, execution);
  if (kept.kind === 'saved') ports.log.info('evidence saved', { ...ids, phase, ...kept.saved });
  else ports.log.warn('evidence not saved', { ...ids, phase, message: kept.message });
  return kept;
}
