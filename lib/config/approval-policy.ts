/** When a person is asked about a node: the configuration's word on its pool and its causes. Pure. */

import type { FaultCause } from '../gap/fault.ts';
import type { ApprovalPolicy, ApprovalsConfig } from './model.ts';

/** From the most lenient to the strictest. */
export const approvalPolicies = [
  'never',
  'drain-blocked',
  'always',
] as const satisfies readonly ApprovalPolicy[];

export interface PolicySubject {
  pool?: string | undefined;
  /** Of the faults that the node is acted on for. */
  causes: readonly FaultCause[];
}

/** A policy with what says so: `policy`, `pools.db`, `causes.volume`. */
export interface AppliedPolicy {
  policy: ApprovalPolicy;
  from: string;
}

/**
 * The policy for a node. Entries for its pool and for the cause of a fault stand in the place of
 * `policy`; of those that match the strictest holds. A fault that no entry names, on a node whose
 * pool has none, is under `policy`, so that an entry for one cause never speaks for another.
 */
export function policyFor(config: ApprovalsConfig, { pool, causes }: PolicySubject): AppliedPolicy {
  const base: AppliedPolicy = { policy: config.policy, from: 'policy' };
  const byPool =
    pool !== undefined && Object.hasOwn(config.pools, pool) ? config.pools[pool] : undefined;
  const ofPool = byPool === undefined ? [] : [{ policy: byPool, from: `pools.${pool}` }];
  const perFault = causes.flatMap((cause): AppliedPolicy[] => {
    const byCause = config.causes[cause];
    const ofCause = byCause === undefined ? [] : [{ policy: byCause, from: `causes.${cause}` }];
    const matching = [...ofPool, ...ofCause];
    return matching.length === 0 ? [base] : matching;
  });
  const matching = perFault.length > 0 ? perFault : ofPool;
  return strictest(matching) ?? base;
}

function strictest(policies: readonly AppliedPolicy[]): AppliedPolicy | undefined {
  return policies.reduce<AppliedPolicy | undefined>(
    (best, each) => (best === undefined || rank(each) > rank(best) ? each : best),
    undefined,
  );
}

function rank({ policy }: AppliedPolicy): number {
  return approvalPolicies.indexOf(policy);
}

/** The policy for what is known of one fault alone: another fault of the node may be stricter. */
export function policyOfFault(
  config: ApprovalsConfig,
  { pool, cause }: { pool?: string | undefined; cause: FaultCause },
): ApprovalPolicy {
  return policyFor(config, { pool, causes: [cause] }).policy;
}

/** The strictest policy that can apply anywhere. */
export function strictestPolicy({ policy, pools, causes }: ApprovalsConfig): ApprovalPolicy {
  const all = [policy, ...Object.values(pools), ...Object.values(causes)];
  return approvalPolicies.findLast((each) => all.includes(each)) ?? policy;
}
