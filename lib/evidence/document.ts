/**
 * What is kept of a node before it is drained, and again before it is replaced: one JSON document
 * (docs/evidence.md). A reader of old documents goes by `schemaVersion`, which changes with every
 * field that is renamed, removed or given another meaning.
 */
import type { IsolationMark } from '../safety/isolation-mark.ts';

export const evidenceVersion = 1;

/** What is about to happen to the node. */
export type EvidencePhase = 'drain' | 'replace';

/** One document is kept of each of these, and never a second one. */
export interface EvidenceIdentity {
  cluster: string;
  nodeUid: string;
  episode: number;
  attempt: number;
  phase: EvidencePhase;
}

/** A fault of the node, as it was judged. Times are ISO 8601. */
export interface EvidenceFault {
  /** `namespace/name` of a DaemonSet, or the type of a node condition. */
  subject: string;
  cause: string;
  message: string;
  blame: string;
  blameReason: string;
  since: string;
  pod?: string;
  evidence: { object: string; field: string; value: string; wouldChange: string }[];
  blameEvidence: { object: string; field: string; value: string; wouldChange: string }[];
}

export interface Evidence extends EvidenceIdentity {
  schemaVersion: typeof evidenceVersion;
  node: string;
  /** When it was read. */
  at: string;
  /** ARN of the execution that is about to act. */
  execution: string;
  installation: string;
  /** Of the configuration that it acts on. */
  configSha256: string;
  /** The code of nodegap that wrote it. */
  nodegap: string;
  judgement: { message: string; faults: EvidenceFault[] };
  /** What nodegap itself did to the node. */
  isolation?: IsolationMark;
  /** Objects as the API server gave them, without what may be secret (redact.ts). */
  objects: {
    node: Record<string, unknown>;
    pods: Record<string, unknown>[];
    nodeClaim?: Record<string, unknown>;
  };
  /** Of the node and of its DaemonSet pods, newest first. */
  events: Record<string, unknown>[];
  /** What was left out to bound the size, a line each. Empty when all is there. */
  cut: string[];
}

/** Where a document lies. */
export interface SavedEvidence {
  /** `s3://bucket/key`, or the path of a file. */
  location: string;
  /** Of the AWS console, for a person who may read it. */
  link?: string;
}

/**
 * Keeps what a node was before it is drained or replaced. A document of the same identity that is
 * there already stays as it is, and counts as saved. Throws when it cannot be saved.
 */
export interface EvidenceStore {
  save(evidence: Evidence): Promise<SavedEvidence>;
}
