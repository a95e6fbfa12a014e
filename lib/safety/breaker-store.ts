import type { AttributeValue, Item, StateTable, Write } from '../ports.ts';
import type { BreakerState, MeasuredState, TrippedState } from './breaker.ts';
import {
  numberOf,
  oneOf,
  optionalNumber,
  optionalText,
  stored,
  textOf,
  textsOf,
} from './item-fields.ts';
import { clusterPk, measuredKey, prefixes } from './keys.ts';
import type { Scope, ScopeKind } from './scope.ts';
import { MAX_TRANSACTION_WRITES } from './table-writes.ts';

const SCOPE_KINDS: readonly ScopeKind[] = ['pool', 'zone', 'cluster'];

/** What is known of a cluster's breakers: as measured by the scan, and as tripped by a person. */
export async function loadBreakerStates(
  table: StateTable,
  cluster: string,
): Promise<BreakerState[]> {
  const [measured, trips] = await Promise.all([
    table.query(clusterPk(cluster), prefixes.measured),
    loadTrips(table, cluster),
  ]);
  return [...trips, ...measured.map(measuredFrom)];
}

/** The trips by a person. */
export async function loadTrips(table: StateTable, cluster: string): Promise<TrippedState[]> {
  return (await table.query(clusterPk(cluster), prefixes.trip)).map(trippedFrom);
}

/**
 * Keeps the measured states of `next` that changed and forgets those of `previous` that are gone
 * from it. Trips belong to a person and are left alone. An update, not a put: when the last node
 * was begun is written by whoever begins one (reopening.ts).
 */
export async function saveBreakerStates(
  table: StateTable,
  cluster: string,
  previous: readonly BreakerState[],
  next: readonly BreakerState[],
): Promise<void> {
  const kept = next.filter((state) => state.source === 'measured');
  const keys = new Set(kept.map((state) => measuredKey(cluster, state).sk));
  const writes: Write[] = kept
    .filter((state) => !previous.includes(state))
    .map((state) => ({
      kind: 'update',
      key: measuredKey(cluster, state),
      ...fieldsOf(state),
    }));
  for (const state of previous) {
    const key = measuredKey(cluster, state);
    if (state.source === 'measured' && !keys.has(key.sk)) writes.push({ kind: 'delete', key });
  }
  for (let start = 0; start < writes.length; start += MAX_TRANSACTION_WRITES) {
    await table.transact(writes.slice(start, start + MAX_TRANSACTION_WRITES));
  }
}

function fieldsOf(state: MeasuredState): {
  set: Record<string, AttributeValue>;
  remove: string[];
} {
  const { source: _source, lastBegunAt: _lastBegunAt, percent, most, why, ...fields } = state;
  const optional = { percent, most, why };
  const remove = Object.entries(optional).flatMap(([name, value]) =>
    value === undefined ? [name] : [],
  );
  return { set: { ...fields, ...stored(optional) }, remove };
}

function measuredFrom(item: Item): MeasuredState {
  const percent = optionalNumber(item, 'percent');
  const most = optionalNumber(item, 'most');
  const why = optionalText(item, 'why');
  const lastBegunAt = optionalNumber(item, 'lastBegunAt');
  return {
    source: 'measured',
    ...scopeFrom(item),
    openedAt: numberOf(item, 'openedAt'),
    lastAboveAt: numberOf(item, 'lastAboveAt'),
    closesAt: numberOf(item, 'closesAt'),
    reopenUntil: optionalNumber(item, 'reopenUntil') ?? numberOf(item, 'closesAt'),
    ...(lastBegunAt === undefined ? {} : { lastBegunAt }),
    total: numberOf(item, 'total'),
    unhealthy: numberOf(item, 'unhealthy'),
    limit: numberOf(item, 'limit'),
    ...(percent === undefined ? {} : { percent }),
    ...(most === undefined ? {} : { most }),
    ...(why === undefined ? {} : { why }),
    unhealthyNodes: textsOf(item, 'unhealthyNodes'),
  };
}

function trippedFrom(item: Item): TrippedState {
  return {
    source: 'manual',
    ...scopeFrom(item),
    trippedAt: numberOf(item, 'trippedAt'),
    by: textOf(item, 'by'),
    reason: textOf(item, 'reason'),
  };
}

/** The scope that an item is about. */
export function scopeFrom(item: Item): Scope {
  return { kind: oneOf(item, 'kind', SCOPE_KINDS), name: textOf(item, 'name') };
}
