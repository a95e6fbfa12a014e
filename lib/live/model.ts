/** What a live scan tells of a cluster: the objects of `nodegap scan --watch -o json`. */
import type { FaultCause } from '../gap/fault.ts';
import type { Blame, Fault } from '../gap/model.ts';
import type { LiveKind } from './store.ts';

/** How a gap ended. */
export type Closing =
  /** A Ready pod is there, or the condition has ended. */
  | 'recovered'
  | 'node-gone'
  /** The node is on its way out and no longer looked at. */
  | 'node-leaving'
  /** The DaemonSet is gone, or is no longer meant for the node or looked at. */
  | 'not-meant';

export interface LiveCounts {
  nodes: number;
  eligiblePairs: number;
  /** All gaps and faults of conditions at present, passing ones too. */
  gaps: number;
  /** Gaps that go with the start or update of a pod and are not told of. */
  passing: number;
  actionable: number;
  unknown: number;
}

/** What following cost so far. */
export interface LiveCost {
  requests: number;
  bytes: number;
  /** Changes that watches told. */
  changes: number;
  /** Lists that had to be read again. */
  relists: number;
  judgements: number;
}

/** Times are epoch ms. */
export type LiveEvent =
  | ({
      type: 'summary';
      at: number;
      cluster: string;
      /** The counts are those from before something could not be followed any more. */
      stale?: true;
      /** In the last one. */
      cost?: LiveCost;
    } & LiveCounts)
  | {
      type: 'opened';
      at: number;
      gap: Fault;
      since: number;
      /** It was there before the scan began. */
      before: boolean;
      /** How often it has gone and come back within hold-up. */
      flaps: number;
    }
  | {
      type: 'changed';
      at: number;
      gap: Fault;
      since: number;
      was: { cause: FaultCause; blame: Blame };
    }
  | { type: 'closed'; at: number; gap: Fault; since: number; closing: Closing }
  /** Something of which nothing can be said at present. */
  | {
      type: 'unknown';
      at: number;
      /** Kinds that cannot be followed: then nothing at all is judged. */
      kinds?: LiveKind[];
      node?: string;
      daemonSet?: string;
      reason: string;
      message: string;
    }
  /** It is known again, after `forMs`. */
  | {
      type: 'resync';
      at: number;
      kinds?: LiveKind[];
      node?: string;
      daemonSet?: string;
      reason: string;
      forMs: number;
    };
