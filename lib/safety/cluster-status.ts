/** All that nodegap knows of one cluster at this moment, for people who ask. Reads only the table. */
import type { Clock } from '../clock.ts';
import type { Config, Mode } from '../config/model.ts';
import type { StateTable } from '../ports.ts';
import type { BreakerState } from './breaker.ts';
import { loadBreakerStates } from './breaker-store.ts';
import { type Canary, listCanaries } from './canaries.ts';
import { readCommits } from './commits.ts';
import type { NextAttempt, PersonRequest } from './episode-items.ts';
import { Episodes } from './episodes.ts';
import { Holds, type Pause } from './holds.ts';
import { limitText } from './limits-text.ts';
import { lastOrders, type Order } from './orders.ts';
import {
  type IsolatedNode,
  loadOverview,
  type Overview,
  type ScopeNumbers,
} from './overview-store.ts';
import { phaseOf } from './reopening.ts';
import { Replacements } from './replacements.ts';
import { ScanStore } from './scan-store.ts';
import { CLUSTER_SCOPE, labelOf, type Scope, sameScope } from './scope.ts';
import { HOUR_MS } from './slot-judge.ts';
import { type Slot, Slots } from './slots.ts';

export interface BreakerView {
  scope: Scope;
  state: 'closed' | 'open' | 'reopening' | 'tripped';
  /** Of the last scan; absent where it counted nothing there. */
  numbers?: { unhealthy: number; total: number; limit: number; text: string };
  /** In words: why it is not closed. */
  why?: string;
  since?: number;
  /** When it closes, or when the reopening is over. Epoch ms. */
  until?: number;
  /** Who tripped it. */
  by?: string;
}

export interface SlotView {
  node: string;
  nodeUid: string;
  pool?: string;
  zone?: string;
  /** The state of its execution; undefined when it could not be told. */
  step?: string;
  execution: string;
  episode: number;
  attempt: number;
  acquiredAt: number;
  /** Waits for a person since then. */
  parkedAt?: number;
  /** Its replacement was committed then. */
  committedAt?: number;
  canaryFor?: string;
  /** Pods that hold its drain up, as the last pass of it found. */
  heldUp?: HeldUp[];
}

export interface HeldUp {
  /** `namespace/name`. */
  pod: string;
  /** Names the budget and what it allows, where it is one. */
  message: string;
  /** Epoch ms. */
  since: number;
}

/** What is known of an attempt elsewhere than among the slots. */
export interface AttemptLooks {
  /** The state of the execution; undefined when it cannot be told. */
  stepOf(execution: string): Promise<string | undefined>;
  heldUpOf(cluster: string, nodeUid: string): Promise<HeldUp[]>;
}

export interface NextView {
  node: string;
  episode: number;
  attempt: number;
  /** How the last attempt ended, and what comes next. */
  code?: string;
  message?: string;
  /** Where it is kept what the node was, a line each. */
  evidence?: string;
  /** Who asked for the last attempt, when a person did. */
  request?: PersonRequest;
  next: 'running' | NextAttempt;
}

export interface ClusterStatus {
  cluster: string;
  mode: Mode;
  /** Epoch ms of the last scan; undefined before the first. */
  scannedAt?: number;
  breakers: BreakerView[];
  pauses: Pause[];
  /** What AWS's work held back in the last scan. */
  holds: Overview['holds'];
  slots: SlotView[];
  isolated: IsolatedNode[];
  episodes: NextView[];
  canaries: Canary[];
  badReplacements: { pool: string; count: number; limit: number }[];
  replacementsLastHour: { count: number; limit: number };
  orders: Order[];
  /** Lists that the last scan cut short, by how much. */
  leftOut: Overview['leftOut'];
}

const ordersShown = 10;

export async function readClusterStatus(
  ports: { table: StateTable; clock: Clock },
  { name, mode }: { name: string; mode: Mode },
  config: Config,
  looks: AttemptLooks,
): Promise<ClusterStatus> {
  const { table, clock } = ports;
  const pacing = { random: () => 0, sleep: async () => undefined };
  const [scan, overview, states, holds, slots, episodes, canaries, bad, commits, orders] =
    await Promise.all([
      new ScanStore(table).load(name),
      loadOverview(table, name),
      loadBreakerStates(table, name),
      new Holds(table, clock).list(name),
      new Slots(table, clock, config.breaker, pacing).list(name),
      new Episodes(table, clock).list(name),
      listCanaries(table, name),
      new Replacements(table).list(name),
      readCommits(table, name),
      lastOrders(table, name, ordersShown),
    ]);
  const now = clock.now();
  const { replacementsPerHour, badReplacements } = config.breaker;
  return {
    cluster: name,
    mode,
    ...(scan === undefined ? {} : { scannedAt: scan.at }),
    breakers: breakerViews(overview?.counts ?? [], states, now),
    pauses: holds.pauses,
    holds: overview?.holds ?? [],
    slots: await Promise.all(slots.map((slot) => slotView(slot, looks))),
    isolated: overview?.isolated ?? [],
    episodes: episodes
      .filter(({ state }) => state === 'open')
      .map(
        ({ node, episode, attempt, attemptState, request, outcome }): NextView => ({
          node,
          episode,
          attempt,
          ...(outcome === undefined ? {} : { code: outcome.code, message: outcome.message }),
          ...(outcome?.evidence === undefined ? {} : { evidence: outcome.evidence }),
          ...(request === undefined ? {} : { request }),
          next: attemptState === 'running' ? 'running' : (outcome?.nextAttemptAt ?? now),
        }),
      ),
    canaries,
    badReplacements: [...bad].map(([pool, count]) => ({ pool, count, limit: badReplacements })),
    replacementsLastHour: {
      count: commits.filter(({ at }) => at > now - HOUR_MS).length,
      limit: replacementsPerHour,
    },
    orders,
    leftOut: overview?.leftOut ?? { counts: 0, isolated: 0 },
  };
}

async function slotView(slot: Slot, looks: AttemptLooks): Promise<SlotView> {
  const { cluster, fence: _fence, ...shown } = slot;
  const [step, heldUp] = await Promise.all([
    looks.stepOf(slot.execution),
    looks.heldUpOf(cluster, slot.nodeUid),
  ]);
  return {
    ...shown,
    ...(step === undefined ? {} : { step }),
    ...(heldUp.length === 0 ? {} : { heldUp }),
  };
}

/** Pure: a view of each scope that was counted or is not closed, the cluster first. */
export function breakerViews(
  counts: readonly ScopeNumbers[],
  states: readonly BreakerState[],
  now: number,
): BreakerView[] {
  const scopes: Scope[] = [CLUSTER_SCOPE];
  for (const { kind, name } of [...counts, ...states]) {
    if (!scopes.some((scope) => sameScope(scope, { kind, name }))) scopes.push({ kind, name });
  }
  return scopes.map((scope): BreakerView => {
    const count = counts.find((each) => sameScope(each, scope));
    const { unhealthy = 0, total = 0, limit = 0 } = count ?? {};
    const numbers =
      count === undefined
        ? {}
        : {
            numbers: {
              unhealthy,
              total,
              limit,
              text: `${unhealthy} of ${total} unhealthy, ${limitText(count)}`,
            },
          };
    return { scope, ...numbers, ...stateOf(scope, states, now) };
  });
}

function stateOf(
  scope: Scope,
  states: readonly BreakerState[],
  now: number,
): Omit<BreakerView, 'scope' | 'numbers'> {
  const own = states.filter((state) => sameScope(state, scope));
  for (const state of own) {
    if (state.source !== 'manual') continue;
    const { by, reason, trippedAt } = state;
    return { state: 'tripped', by, why: reason, since: trippedAt };
  }
  for (const state of own) {
    if (state.source !== 'measured') continue;
    const phase = phaseOf(state, now);
    if (phase === 'over') continue;
    const { openedAt, closesAt, reopenUntil, why } = state;
    return {
      state: phase,
      since: phase === 'open' ? openedAt : closesAt,
      until: phase === 'open' ? closesAt : reopenUntil,
      ...(why === undefined ? {} : { why }),
    };
  }
  return { state: 'closed' };
}

/** For a message: the scopes that the last scan counted, for example `pool general`. */
export function countedScopes(overview: Overview | undefined): string[] {
  return (overview?.counts ?? []).map(labelOf);
}
