import type { Evidence, SavedEvidence } from '../lib/evidence/document.ts';
import { evidenceKey } from '../lib/evidence/key.ts';
import type { EvidenceStore } from '../lib/ports.ts';

/** Evidence that dies with the process: for demo and tests. */
export class MemoryEvidence implements EvidenceStore {
  /** By key, in the order in which they were saved. */
  readonly documents = new Map<string, Evidence>();

  async save(evidence: Evidence): Promise<SavedEvidence> {
    const key = evidenceKey(evidence);
    if (!this.documents.has(key)) this.documents.set(key, structuredClone(evidence));
    return { location: `memory:${key}` };
  }
}
