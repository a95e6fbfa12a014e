/**
 * What closes the way to new work and to the destructive call alike: a pause, a trip, a breaker
 * that is open, too many bad replacements. Read before a transaction, and checked again in it.
 */
import type { Clock } from '../clock.ts';
import type { BreakerConfig } from '../config/model.ts';
import type { Condition, StateTable, Write } from '../ports.ts';
import type { BreakerState, BreakerVerdict, MeasuredState, OpenBreaker } from './breaker.ts';
import { loadBreakerStates } from './breaker-store.ts';
import { type HoldObjection, Holds } from './holds.ts';
import { badReplacementsKey, measuredKey, pauseKey, tripKey } from './keys.ts';
import { capText } from './limits-text.ts';
import { takeTurn } from './reopening.ts';
import { Replacements } from './replacements.ts';
import { type Scope, sameScope, scopesContaining } from './scope.ts';

export interface GateFacts {
  hold: HoldObjection | undefined;
  breakerStates: BreakerState[];
  badReplacements: number;
}

/** The node that the gate is asked for. */
export interface GatedNode {
  cluster: string;
  pool?: string;
  zone?: string;
}

export interface GateRefusal {
  kind: 'refused';
  code: 'paused' | OpenBreaker['code'] | 'bad-replacements';
  message: string;
  retryAt?: number;
  /** Whose breaker it is. */
  scope?: Scope;
}

export async function readGate(
  table: StateTable,
  clock: Clock,
  node: GatedNode,
): Promise<GateFacts> {
  const [holds, breakerStates, bad] = await Promise.all([
    new Holds(table, clock).list(node.cluster),
    loadBreakerStates(table, node.cluster),
    node.pool === undefined
      ? new Set<string>()
      : new Replacements(table).bad(node.cluster, node.pool),
  ]);
  return { hold: holds.holdOf(node.pool), breakerStates, badReplacements: bad.size };
}

/** The first objection of the gate, given what the breaker says about the node. */
export function judgeGate(
  facts: GateFacts,
  node: GatedNode,
  breaker: BreakerVerdict,
  limits: BreakerConfig,
): GateRefusal | undefined {
  if (facts.hold !== undefined) return { kind: 'refused', ...facts.hold };
  if (breaker.kind === 'open') {
    const { code, message, retryAt, scope } = breaker;
    return { kind: 'refused', code, message, retryAt, scope };
  }
  if (node.pool !== undefined && facts.badReplacements >= limits.badReplacements) {
    return {
      kind: 'refused',
      code: 'bad-replacements',
      message: `pool ${node.pool}: ${capText(facts.badReplacements, ['bad replacement in a row', 'bad replacements in a row'], { limit: limits.badReplacements, key: 'badReplacements' })}; look into the pool, then: nodegap reset --pool ${node.pool}`,
    };
  }
  return undefined;
}

/**
 * Conditions that fail the transaction when the gate was closed after it was read. A new node takes
 * its turn in the scopes of `reopening` by the same writes.
 */
export function gateChecks(
  node: GatedNode,
  limits: BreakerConfig,
  now: number,
  reopening: readonly MeasuredState[] = [],
): Write[] {
  const { cluster, pool } = node;
  const absentOrOver = (attribute: string): Condition => ({
    kind: 'any',
    of: [{ kind: 'absent' }, { kind: 'less-than', attribute, value: now + 1 }],
  });
  const checks: Write[] = [
    { kind: 'check', key: pauseKey(cluster, undefined), condition: absentOrOver('until') },
  ];
  for (const scope of scopesContaining(node)) {
    const turn = reopening.find((state) => sameScope(state, scope));
    checks.push(
      { kind: 'check', key: tripKey(cluster, scope), condition: { kind: 'absent' } },
      turn === undefined
        ? { kind: 'check', key: measuredKey(cluster, scope), condition: absentOrOver('closesAt') }
        : takeTurn(cluster, turn, now, limits),
    );
  }
  if (pool !== undefined) {
    checks.push(
      { kind: 'check', key: pauseKey(cluster, pool), condition: absentOrOver('until') },
      {
        kind: 'check',
        key: badReplacementsKey(cluster, pool),
        condition: {
          kind: 'set-smaller-than',
          attribute: 'executions',
          limit: limits.badReplacements,
        },
      },
    );
  }
  return checks;
}
