/** What an attempt keeps of its evidence from state to state: where it lies, or why it is missing. */
import type { WorkflowState } from '../remediation/workflow-state.ts';
import type { EvidencePhase, SavedEvidence } from './document.ts';
import type { KeptEvidence } from './keep.ts';

/** The flat fields of a task's result. */
export interface EvidenceTrace {
  evidence?: string | undefined;
  evidenceLink?: string | undefined;
  /** Why there is none, where the configuration lets an attempt go on without it. */
  evidenceMissing?: string | undefined;
}

export function traceOf(kept: Exclude<KeptEvidence, { kind: 'refused' }>): EvidenceTrace {
  if (kept.kind === 'missing') return { evidenceMissing: kept.message.slice(0, 500) };
  const { location, link } = kept.saved;
  return { evidence: location, ...(link === undefined ? {} : { evidenceLink: link }) };
}

/** The trace in a result of the same task, when there is one. */
export function traceIn(result: EvidenceTrace | undefined): EvidenceTrace | undefined {
  const { evidence, evidenceLink, evidenceMissing } = result ?? {};
  if (evidence === undefined && evidenceMissing === undefined) return undefined;
  return {
    ...(evidence === undefined ? {} : { evidence }),
    ...(evidenceLink === undefined ? {} : { evidenceLink }),
    ...(evidenceMissing === undefined ? {} : { evidenceMissing }),
  };
}

/** The evidence of an attempt, for its report and for notices. */
export type AttemptEvidence = { phase: EvidencePhase } & (
  | SavedEvidence
  | { location?: undefined; missing: string }
);

export function evidenceOf(state: Pick<WorkflowState, 'drain' | 'replacement'>): AttemptEvidence[] {
  return [...entry('drain', state.drain), ...entry('replace', state.replacement)];
}

function entry(phase: EvidencePhase, result: EvidenceTrace | undefined): AttemptEvidence[] {
  const { evidence, evidenceLink, evidenceMissing } = result ?? {};
  if (evidence !== undefined) {
    const link = evidenceLink === undefined ? {} : { link: evidenceLink };
    return [{ phase, location: evidence, ...link }];
  }
  return evidenceMissing === undefined ? [] : [{ phase, missing: evidenceMissing }];
}

/** One line for each: `evidence before drain: s3://…`. */
export function evidenceLines(evidence: readonly AttemptEvidence[]): string[] {
  return evidence.map((each) => {
    const before = `evidence before ${each.phase}`;
    if (each.location === undefined) return `${before}: missing, ${each.missing}`;
    return `${before}: ${each.location}${each.link === undefined ? '' : ` (${each.link})`}`;
  });
}
