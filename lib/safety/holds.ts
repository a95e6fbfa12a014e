/**
 * A person's word against new work: pauses (of a cluster or a pool) and breaker trips. State, not
 * configuration: a deploy does not undo them.
 */
import { type Clock, isoTime } from '../clock.ts';
import { UsageError } from '../errors.ts';
import type { Item, ItemKey, StateTable, Write } from '../ports.ts';
import type { TrippedState } from './breaker.ts';
import { loadTrips, scopeFrom } from './breaker-store.ts';
import { numberOf, optionalNumber, stored, textOf } from './item-fields.ts';
import { badReplacementsKey, clusterPk, measuredKey, pauseKey, prefixes, tripKey } from './keys.ts';
import { CLUSTER_SCOPE, labelOf, type Scope } from './scope.ts';

/** Stops new work in a cluster, or in one pool of it. Times are epoch ms. */
export interface Pause {
  cluster: string;
  pool?: string;
  reason: string;
  by: string;
  since: number;
  /** Ends by itself then; without it a person ends it. */
  until?: number;
}

/** Why a node may not be worked on, because a person said so. */
export interface HoldObjection {
  code: 'paused';
  message: string;
  retryAt?: number;
}

/** What persons hold back in one cluster at this moment. */
export interface ClusterHolds {
  pauses: Pause[];
  trips: TrippedState[];
  /** The pause that holds for a node of that pool: the cluster's before the pool's. */
  holdOf(pool: string | undefined): HoldObjection | undefined;
}

/** What a reset may take back. */
export type ResetPart = 'trip' | 'cool-down' | 'bad-replacements';

export class Holds {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Stops new work. A pause that holds already is replaced. */
  async pause(request: {
    cluster: string;
    pool?: string;
    reason: string;
    by: string;
    until?: number;
    /** Written in the same transaction, here and below: who asked for it. */
    also?: Write[];
  }): Promise<Pause> {
    const { cluster, pool, reason, by, until } = request;
    demandWords(by, reason);
    const now = this.#clock.now();
    if (until !== undefined && until <= now) {
      throw new UsageError(`a pause until ${isoTime(until)} would be over already`);
    }
    const scope = pool === undefined ? CLUSTER_SCOPE : { kind: 'pool' as const, name: pool };
    const item = {
      ...pauseKey(cluster, pool),
      ...stored({ ...scope, reason, by, since: now, until }),
    };
    await this.#table.transact([{ kind: 'put', item }, ...(request.also ?? [])]);
    return pauseFrom(cluster, item);
  }

  /** Ends a pause. False when there was none. */
  async resume(request: { cluster: string; pool?: string; also?: Write[] }): Promise<boolean> {
    const key = pauseKey(request.cluster, request.pool);
    const outcome = await this.#table.transact([
      { kind: 'delete', key, condition: { kind: 'present' } },
      ...(request.also ?? []),
    ]);
    return outcome.kind === 'committed';
  }

  /** Opens the breaker of a scope until a person resets it. */
  async trip(request: {
    cluster: string;
    scope: Scope;
    reason: string;
    by: string;
    also?: Write[];
  }): Promise<TrippedState> {
    const { cluster, scope, reason, by } = request;
    demandWords(by, reason);
    const { kind, name } = scope.kind === 'cluster' ? CLUSTER_SCOPE : scope;
    const fields = { kind, name, trippedAt: this.#clock.now(), by, reason };
    const item = { ...tripKey(cluster, { kind, name }), ...fields };
    await this.#table.transact([{ kind: 'put', item }, ...(request.also ?? [])]);
    return { source: 'manual', ...fields };
  }

  /**
   * Takes back what keeps a scope closed by memory: a person's trip, cool-down and reopening, and
   * for a pool its bad replacements. What is measured stays: a scope that is above its limit is
   * refused all the same, and open again after the next scan. Answers what there was.
   */
  async reset(request: { cluster: string; scope: Scope; also?: Write[] }): Promise<ResetPart[]> {
    const { cluster, also = [] } = request;
    const scope = request.scope.kind === 'cluster' ? CLUSTER_SCOPE : request.scope;
    const keys: [ResetPart, ItemKey][] = [
      ['trip', tripKey(cluster, scope)],
      ['cool-down', measuredKey(cluster, scope)],
      ...(scope.kind === 'pool'
        ? [['bad-replacements', badReplacementsKey(cluster, scope.name)] as [ResetPart, ItemKey]]
        : []),
    ];
    const found: [ResetPart, ItemKey][] = [];
    for (const each of keys) if ((await this.#table.get(each[1])) !== undefined) found.push(each);
    if (found.length === 0) return [];
    await this.#table.transact([
      ...found.map(([, key]): Write => ({ kind: 'delete', key })),
      ...also,
    ]);
    return found.map(([part]) => part);
  }

  /** Everything that holds now; a pause that is over is not among it. */
  async list(cluster: string): Promise<ClusterHolds> {
    const [items, trips] = await Promise.all([
      this.#table.query(clusterPk(cluster), prefixes.pause),
      loadTrips(this.#table, cluster),
    ]);
    const now = this.#clock.now();
    const pauses = items
      .map((item) => pauseFrom(cluster, item))
      .filter(({ until }) => until === undefined || now < until);
    return { pauses, trips, holdOf: (pool) => objectionFrom(pauses, pool) };
  }
}

function objectionFrom(pauses: Pause[], pool: string | undefined): HoldObjection | undefined {
  const pause =
    pauses.find((one) => one.pool === undefined) ??
    pauses.find((one) => one.pool !== undefined && one.pool === pool);
  if (pause === undefined) return undefined;
  const scope: Scope =
    pause.pool === undefined ? CLUSTER_SCOPE : { kind: 'pool', name: pause.pool };
  const end = pause.until === undefined ? '' : ` until ${isoTime(pause.until)}`;
  return {
    code: 'paused',
    message: `${labelOf(scope)}: paused by ${pause.by}${end}: ${pause.reason}`,
    ...(pause.until === undefined ? {} : { retryAt: pause.until }),
  };
}

/** A hold that nobody can be asked about is one that nobody dares to end. */
function demandWords(by: string, reason: string): void {
  if (by.trim() === '') throw new UsageError('say who asks for it');
  if (reason.trim() === '') throw new UsageError('give a reason: others will want to know');
}

function pauseFrom(cluster: string, item: Item): Pause {
  const scope = scopeFrom(item);
  const until = optionalNumber(item, 'until');
  return {
    cluster,
    ...(scope.kind === 'pool' ? { pool: scope.name } : {}),
    reason: textOf(item, 'reason'),
    by: textOf(item, 'by'),
    since: numberOf(item, 'since'),
    ...(until === undefined ? {} : { until }),
  };
}
