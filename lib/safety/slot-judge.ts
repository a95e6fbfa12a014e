/** Whether an execution may have a slot. Pure: facts in, verdict out. */
import { isoTime } from '../clock.ts';
import type { BreakerConfig } from '../config/model.ts';
import { type BreakerVerdict, judgeBreaker } from './breaker.ts';
import { type CanaryReading, canaryFree } from './canaries.ts';
import { capText } from './limits-text.ts';
import { judgePace, type PaceRefusal } from './reopening.ts';
import { type Scope, sameScope, scopesContaining } from './scope.ts';
import { countsFor, type ScopeCount } from './scope-counts.ts';
import { type GateFacts, type GateRefusal, judgeGate } from './slot-gate.ts';
import type { Places, Slot, SlotRequest } from './slot-items.ts';

/** Counts may be this old when a slot is taken on them. */
export const COUNTS_MAX_AGE_MS = 30_000;
export const HOUR_MS = 3_600_000;

export interface Refusal {
  kind: 'refused';
  code:
    | GateRefusal['code']
    | PaceRefusal['code']
    | 'node-busy'
    | 'pool-parallel-cap'
    | 'cluster-parallel-cap'
    | 'hourly-cap'
    | 'canary-taken'
    | 'counts-stale';
  message: string;
  /** Epoch ms before which asking again is in vain, when it is known. */
  retryAt?: number;
  /** Whose breaker it is, when one is open. */
  scope?: Scope;
}

export interface SlotFacts {
  now: number;
  places: Places;
  /** All slots of the cluster. May lag behind `places`, which is why both count. */
  slots: Slot[];
  gate: GateFacts;
  canary: CanaryReading | undefined;
  /** When replacements of the cluster were committed. */
  commits: number[];
  limits: BreakerConfig;
}

/** The first reason against a new slot, or undefined when there is none. */
export function judgeSlot(request: SlotRequest, facts: SlotFacts): Refusal | undefined {
  const other = facts.slots.find((slot) => slot.nodeUid === request.nodeUid);
  if (other !== undefined) {
    return refused('node-busy', `${request.node} is worked on by ${other.execution}`);
  }
  return (
    judgeCounts(request, facts.now) ??
    judgeGate(facts.gate, request, judgeScopes(request, facts), facts.limits) ??
    judgePace(scopesContaining(request), facts.gate.breakerStates, facts.now, facts.limits) ??
    judgeCanary(request, facts) ??
    judgeCaps(request, facts) ??
    judgeHour(facts)
  );
}

/** Whether the counts are young enough to take a slot on them. */
export function areFresh({ countedAt }: Pick<SlotRequest, 'countedAt'>, now: number): boolean {
  return Math.abs(now - countedAt) <= COUNTS_MAX_AGE_MS;
}

function judgeCounts(request: SlotRequest, now: number): Refusal | undefined {
  const age = now - request.countedAt;
  if (!areFresh(request, now)) {
    return refused(
      'counts-stale',
      `the counts are ${Math.round(age / 1000)} s old, limit ${COUNTS_MAX_AGE_MS / 1000} s`,
      now,
    );
  }
  const missing = scopesContaining(request).find(
    (scope) => !request.counts.some((count) => sameScope(count, scope)),
  );
  return missing === undefined
    ? undefined
    : refused('counts-stale', `there is no count of ${missing.kind} ${missing.name}`, now);
}

function judgeScopes(request: SlotRequest, facts: SlotFacts): BreakerVerdict {
  const counts = countsFor(request.counts, request).map((count) =>
    withPlaces(count, request, facts),
  );
  const coolDownMs = facts.limits.coolDown * 1000;
  return judgeBreaker(counts, facts.gate.breakerStates, facts.now, coolDownMs);
}

/**
 * A count with the nodes that took a place since it was made, and with the node that asks: it
 * counts from now on, also when a person asked for a healthy one.
 */
function withPlaces(count: ScopeCount, request: SlotRequest, facts: SlotFacts): ScopeCount {
  const others = placesIn(count, facts).filter(({ nodeUid }) => nodeUid !== request.nodeUid);
  const asking: Member = { node: request.node, nodeUid: request.nodeUid };
  const extra = [...others, asking].filter(
    (member) => !isCountedIn(count, member, request.countedAt),
  );
  return { ...count, unhealthy: count.unhealthy + extra.length };
}

interface Member {
  node?: string;
  nodeUid: string;
  acquiredAt?: number;
}

/** Nodes with a place in a scope. One whose slot cannot be seen may be anywhere, so it counts. */
function placesIn(scope: Scope, facts: SlotFacts): Member[] {
  const seen = new Set(facts.slots.map((slot) => slot.nodeUid));
  const unseen = [...facts.places.inWork].filter((nodeUid) => !seen.has(nodeUid));
  return [
    ...facts.slots.filter((slot) => inScope(slot, scope)),
    ...unseen.map((nodeUid) => ({ nodeUid })),
  ];
}

function inScope(slot: Slot, scope: Scope): boolean {
  return scopesContaining(slot).some((own) => sameScope(own, scope));
}

/**
 * Whether the count has that node among its unhealthy ones already. Without all uids the names
 * must do; where these are cut short too, a slot older than the count was part of it.
 */
function isCountedIn(count: ScopeCount, member: Member, countedAt: number): boolean {
  if (count.unhealthyUids !== undefined) return count.unhealthyUids.includes(member.nodeUid);
  if (member.node !== undefined && count.unhealthyNodes.includes(member.node)) return true;
  const cutShort = count.unhealthy > count.unhealthyNodes.length;
  return cutShort && member.acquiredAt !== undefined && member.acquiredAt < countedAt;
}

function judgeCanary(request: SlotRequest, facts: SlotFacts): Refusal | undefined {
  if (request.canaryFor === undefined || facts.canary === undefined) return undefined;
  if (canaryFree(facts.canary, request.nodeUid, facts.now)) return undefined;
  const { canary } = facts.canary;
  return canary.state === 'taken'
    ? refused(
        'canary-taken',
        `${canary.node} is the canary of ${canary.daemonSet} since ${isoTime(canary.takenAt)}; no other node is taken before its replacement is verified`,
      )
    : refused(
        'canary-taken',
        `the replacement of ${canary.node} did not cure ${canary.daemonSet} (${canary.state}); no other node is taken for it before ${isoTime(canary.blockedUntil)}`,
        canary.blockedUntil,
      );
}

/** Parallel places: those of the node's pool, if it has one, and those of the cluster. */
export function judgeCaps(
  node: { pool?: string; nodeUid: string },
  facts: {
    places: Pick<Places, 'working'>;
    slots: readonly Pick<Slot, 'nodeUid' | 'pool'>[];
    limits: BreakerConfig;
  },
): Refusal | undefined {
  const working = [...facts.places.working].filter((nodeUid) => nodeUid !== node.nodeUid);
  if (node.pool !== undefined) {
    const poolOf = new Map(facts.slots.map((slot) => [slot.nodeUid, slot.pool]));
    const inPool = working.filter((uid) => !poolOf.has(uid) || poolOf.get(uid) === node.pool);
    if (inPool.length >= facts.limits.parallelPerPool) {
      return refused(
        'pool-parallel-cap',
        `pool ${node.pool}: ${inWorkText(inPool.length, { limit: facts.limits.parallelPerPool, key: 'parallelPerPool' })}`,
      );
    }
  }
  return working.length >= facts.limits.parallelPerCluster
    ? refused(
        'cluster-parallel-cap',
        `cluster: ${inWorkText(working.length, { limit: facts.limits.parallelPerCluster, key: 'parallelPerCluster' })}`,
      )
    : undefined;
}

function inWorkText(count: number, cap: { limit: number; key: string }): string {
  return capText(count, ['node in work', 'nodes in work'], cap);
}

/** Replacements of the last 60 minutes, which slide. */
export function judgeHour(
  facts: Pick<SlotFacts, 'commits' | 'limits' | 'now'>,
): Refusal | undefined {
  const recent = facts.commits.filter((at) => at > facts.now - HOUR_MS);
  const limit = facts.limits.replacementsPerHour;
  if (recent.length < limit) return undefined;
  const what = ['replacement within the last hour', 'replacements within the last hour'] as const;
  const message = `cluster: ${capText(recent.length, what, { limit, key: 'replacementsPerHour' })}`;
  const oldest = recent.toSorted((a, b) => a - b)[recent.length - limit];
  return oldest === undefined
    ? refused('hourly-cap', message)
    : refused(
        'hourly-cap',
        `${message}; the next from ${isoTime(oldest + HOUR_MS)}`,
        oldest + HOUR_MS,
      );
}

function refused(code: Refusal['code'], message: string, retryAt?: number): Refusal {
  return { kind: 'refused', code, message, ...(retryAt === undefined ? {} : { retryAt }) };
}
