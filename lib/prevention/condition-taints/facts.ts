/** What the decision is told, from one read of a cluster and what is remembered of it. */

import type { ClusterFacts } from '../../gap/model.ts';
import { leftOut } from '../../gap/node-kinds.ts';
import type { Node } from '../../kubernetes/objects.ts';
import { doubtIn, vetoIn } from '../../remediation/objections.ts';
import { remediationOf } from '../../remediation/others.ts';
import { claimOf } from '../../remediation/replacement.ts';
import type { ClusterReading } from '../../remediation/situation.ts';
import { leavingReason } from '../../safety/leaving.ts';
import type { ConditionTaintFacts, Sighting } from './model.ts';

/** Says of a node why it is somebody else's, on its way out, or of a kind that is left alone. */
export function vetoesIn(
  facts: ClusterFacts,
  installation: string,
  known: (node: Node) => { leaving: string | undefined; remediation: string | undefined } = () => ({
    leaving: undefined,
    remediation: undefined,
  }),
): ConditionTaintFacts['vetoOf'] {
  const claims = facts.nodeClaims.ok ? facts.nodeClaims.items : [];
  return (node) => {
    const objection =
      vetoIn(node, claimOf(node, claims), installation, known(node)) ?? doubtIn(facts, node);
    if (objection !== undefined) return { code: objection.code, message: objection.message };
    const left = leftOut(node);
    return left && { code: 'node-left-out', message: left.reason };
  };
}

/** Of a reading that also knows the state table. */
export function conditionTaintFactsOf(
  reading: ClusterReading,
  installation: string,
  remembered: readonly Sighting[],
): ConditionTaintFacts {
  const { facts, counts, breakers, holds, leaving, others, observer } = reading;
  return {
    nodes: facts.nodes,
    daemonSets: facts.daemonSets,
    installation,
    remembered,
    counts,
    breakerStates: breakers,
    holdOf: (pool) => holds.holdOf(pool),
    vetoOf: vetoesIn(facts, installation, (node) => ({
      leaving: leavingReason(leaving, node),
      remediation: remediationOf(node, others),
    })),
    doubt: observer,
  };
}
