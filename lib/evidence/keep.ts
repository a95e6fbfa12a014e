import type { Clock } from '../clock.ts';
import type { EvidencePolicy } from '../config/model.ts';
import { messageWithRemedy } from '../kubernetes/errors.ts';
import type { ClusterReader, EvidenceStore } from '../ports.ts';
import type { WorkflowState } from '../remediation/workflow-state.ts';
import type { EvidencePhase, SavedEvidence } from './document.ts';
import { type EvidenceSituation, gatherEvidence } from './gather.ts';

export interface EvidencePorts {
  clock: Clock;
  installation: string;
  /** Of the code of nodegap. */
  version: string;
  evidence: EvidenceStore;
}

export type KeptEvidence =
  | { kind: 'saved'; saved: SavedEvidence }
  /** It could not be saved, and the configuration lets the attempt go on without it. */
  | { kind: 'missing'; message: string }
  /** It could not be saved, so nothing may be evicted or destroyed now. */
  | { kind: 'refused'; code: 'evidence-unsaved'; message: string };

export interface EvidenceRequest {
  state: WorkflowState;
  execution: string;
  phase: EvidencePhase;
  situation: EvidenceSituation;
  policy: EvidencePolicy;
}

/** Saves what the node is now, before something is done to it that cannot be undone. Never throws. */
export async function keepEvidence(
  ports: EvidencePorts,
  reader: ClusterReader,
  { state, execution, phase, situation, policy }: EvidenceRequest,
): Promise<KeptEvidence> {
  const { clock, installation, version, evidence } = ports;
  try {
    const document = await gatherEvidence(reader, situation, {
      state,
      execution,
      phase,
      installation,
      version,
      clock,
    });
    return { kind: 'saved', saved: await evidence.save(document) };
  } catch (error) {
    const message = `the evidence before the ${words[phase]} could not be saved: ${messageWithRemedy(error)}`;
    return policy === 'required'
      ? { kind: 'refused', code: 'evidence-unsaved', message }
      : { kind: 'missing', message };
  }
}

const words: Record<EvidencePhase, string> = { drain: 'drain', replace: 'replacement' };
