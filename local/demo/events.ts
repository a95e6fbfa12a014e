/** Everything that the demo tells while it runs. Times are epoch ms of virtual time. */
import type { ScanResult } from '../../functions/scan-cluster.ts';
import type { AttemptInput, Notice } from '../../lib/ports.ts';
import type { AuditEntry } from '../cluster/api/api-server.ts';
import type { Happening } from '../cluster/changes.ts';

/** `letter` is that of the scenario. */
export type DemoEvent = { at: number; letter: string } & EventBody;

export type EventBody =
  /** The script does something to the cluster. */
  | { kind: 'staged'; words: string }
  | { kind: 'happened'; happening: Happening }
  /** A request that was to change the cluster. */
  | { kind: 'wrote'; entry: AuditEntry }
  | { kind: 'scanned'; result: ScanResult }
  | { kind: 'notified'; notice: Notice }
  /** An execution enters a state of the machine; `type` is Task, Wait, Choice … */
  | ({ kind: 'entered'; state: string; type: string } & OfExecution)
  /** A handler answered. */
  | ({ kind: 'answered'; state: string; code: string; message: string } & OfExecution)
  | ({ kind: 'ended'; status: string } & OfExecution)
  /** Something of nodegap itself went wrong. */
  | { kind: 'failed'; message: string };

export interface OfExecution {
  execution: string;
  input: AttemptInput;
}
