/** What may stand against work on one node, as parts of a situation. */
import type { ReplacementConfig } from '../config/model.ts';
import type { ClusterFacts } from '../gap/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import { type BreakerState, judgeBreaker, type ScopeCount } from '../safety/breaker.ts';
import { vetoOf } from '../safety/vetoes.ts';
import type { Objection } from './judge.ts';
import { deferral } from './replaceable.ts';
import type { ClaimMatch } from './replacement.ts';

/** A pool label says that Karpenter owns the node, so its claim must be readable to know more. */
export function doubtIn(facts: ClusterFacts, node: Node | undefined): Objection | undefined {
  const isKarpenters = node?.metadata.labels?.['karpenter.sh/nodepool'] !== undefined;
  return facts.nodeClaims.ok || !isKarpenters
    ? undefined
    : { code: 'claims-unreadable', message: facts.nodeClaims.reason };
}

/** The first reason to leave the node to somebody else. */
export function vetoIn(
  node: Node | undefined,
  claim: ClaimMatch,
  installation: string,
  { leaving, remediation }: { leaving: string | undefined; remediation: string | undefined },
): Objection | undefined {
  if (node === undefined) return undefined;
  if (claim.kind === 'inconsistent') return { code: 'claim-mismatch', message: claim.message };
  const found = claim.kind === 'found' ? claim.claim : undefined;
  return vetoOf(node, found, {
    installation,
    ...(leaving === undefined ? {} : { leaving }),
    ...(remediation === undefined ? {} : { remediation }),
  });
}

/** Why nodes of its kind are not touched at all. */
export function deferralOf(
  node: Node | undefined,
  claim: ClaimMatch,
  config: ReplacementConfig,
): Objection | undefined {
  return node && deferral(node, claim.kind === 'found' ? claim.claim : undefined, config);
}

/** The breaker of the scopes of one node, when it is open. Times are epoch ms. */
export function breakerOn(
  counts: ScopeCount[],
  states: BreakerState[],
  now: number,
  coolDownMs: number,
): Objection | undefined {
  const verdict = judgeBreaker(counts, states, now, coolDownMs);
  return verdict.kind === 'open' ? verdict : undefined;
}
