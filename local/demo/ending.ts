/** What is on record of one scenario: while it runs, and when it is over. */
import type { ScanResult } from '../../functions/scan-cluster.ts';
import type { Node, NodeClaim, Pod } from '../../lib/kubernetes/objects.ts';
import type { Notice } from '../../lib/ports.ts';
import type { AuditEntry } from '../cluster/api/api-server.ts';
import type { Happening } from '../cluster/changes.ts';
import type { Machine } from '../cluster/machines.ts';

/** One execution of `remediate-node`. Times are epoch ms of virtual time. */
export interface AttemptRecord {
  execution: string;
  node: string;
  nodeUid: string;
  startedAt: number;
  endedAt?: number;
  /** Final status of the execution. */
  status?: string;
  /** What Report said of it. */
  outcome?: { code: string; message: string };
}

/** What is noted down as it happens. */
export interface Chronicle {
  attempts: AttemptRecord[];
  notices: { at: number; notice: Notice }[];
  happenings: Happening[];
  scans: { at: number; result: ScanResult }[];
  /** Moments at which a budget had fewer healthy pods than it asks for, in words. */
  breaches: string[];
  /** Errors that handlers threw. */
  failures: string[];
}

/** The chronicle with the cluster as it stands at the end. */
export interface Ending extends Chronicle {
  startedAt: number;
  endedAt: number;
  nodes: Node[];
  pods: Pod[];
  claims: NodeClaim[];
  machines: Machine[];
  /** Every request that was to change something, refused ones too. */
  writes: readonly AuditEntry[];
}

export function newChronicle(): Chronicle {
  return {
    attempts: [],
    notices: [],
    happenings: [],
    scans: [],
    breaches: [],
    failures: [],
  };
}

/** One thing that had to come out so, and what was found. */
export interface Check {
  what: string;
  ok: boolean;
  found: string;
}
