/** What is decided on about the condition taints of a cluster, and on what. */
import type { ConditionTaintConfig, Config } from '../../config/model.ts';
import type { DaemonSet, Node } from '../../kubernetes/objects.ts';
import type { BreakerState, MeasuredState, ScopeCount } from '../../safety/breaker.ts';
import type { HoldObjection } from '../../safety/holds.ts';

/** What scans have seen of a rule on a node without a break. Times are epoch ms. */
export interface Sighting {
  nodeUid: string;
  /** NAME of the rule. */
  rule: string;
  /** `there`: the condition, without our taint. `over`: its absence, with our taint. */
  seen: 'there' | 'over';
  since: number;
  last: number;
}

export interface ConditionTaintFacts {
  nodes: readonly Node[];
  daemonSets: readonly DaemonSet[];
  /** Whose notes on nodes are our own. */
  installation: string;
  /**
   * Undefined where there is no memory, as in a dry run: the times of the conditions themselves
   * stand for what scans would have seen.
   */
  remembered: readonly Sighting[] | undefined;
  counts: readonly ScopeCount[];
  breakerStates: readonly BreakerState[];
  holdOf(pool: string | undefined): HoldObjection | undefined;
  /** Why the node is somebody else's, or on its way out. */
  vetoOf(node: Node): { code: string; message: string } | undefined;
  /** Why the read as a whole is not believed: then nothing is added, removed or remembered. */
  doubt: { code: string; message: string } | undefined;
}

export type ConditionTaintSettings = Pick<
  Config,
  'conditionTaints' | 'requiredDaemonSets' | 'startupTaints' | 'breaker' | 'timings'
>;

/** For one node and one NAME. `code` is stable, see docs/reason-codes.md. */
export type TaintVerdict = {
  node: Node;
  name: string;
  /** Undefined for a taint that no rule stands behind. */
  rule: ConditionTaintConfig | undefined;
  code: string;
  message: string;
} & (
  | {
      kind: 'add';
      rule: ConditionTaintConfig;
      /** Since when the condition is there, epoch ms. */
      since: number;
      /** Scopes that reopen, in which the node takes its turn. */
      turns: MeasuredState[];
    }
  | { kind: 'remove' }
  /** The taint stays as it is. */
  | { kind: 'keep' }
  /** Hold-down, minimum age or hold-up is not over. `until` is epoch ms. */
  | { kind: 'wait'; until: number }
  /** It would be put on, and something forbids that. */
  | { kind: 'refused'; held?: true; shutOut?: string[] }
);

export interface ConditionTaintDecision {
  verdicts: TaintVerdict[];
  /** What to remember from now on. */
  sightings: Sighting[];
}
