/** The writes by which slots and places change hands. */
import type { BreakerConfig } from '../config/model.ts';
import type { Condition, Write } from '../ports.ts';
import type { MeasuredState } from './breaker.ts';
import { type CanaryReading, takeCanary } from './canaries.ts';
import { placesKey } from './keys.ts';
import { type Scope, scopesContaining } from './scope.ts';
import { gateChecks } from './slot-gate.ts';
import { type Places, type Slot, slotItem } from './slot-items.ts';

/** Everything that a new slot takes: the lease, its places, the gate still open, the canary. */
export function acquisition(
  slot: Slot,
  read: {
    places: Places;
    canary: CanaryReading | undefined;
    limits: BreakerConfig;
    now: number;
    /** Scopes of the node that reopen, in which it takes its turn. */
    reopening: readonly MeasuredState[];
  },
): Write[] {
  const writes: Write[] = [
    { kind: 'put', item: slotItem(slot), condition: { kind: 'absent' } },
    ...takePlaces(slot, read.places, read.limits, ['inWork', 'working']),
    ...gateChecks(slot, read.limits, read.now, read.reopening),
  ];
  if (slot.canaryFor !== undefined) {
    const { node, nodeUid, execution } = slot;
    const canary = { daemonSet: slot.canaryFor, node, nodeUid, execution, takenAt: read.now };
    writes.push(...takeCanary(slot.cluster, canary, read.canary));
  }
  return writes;
}

/**
 * Adds the node to sets of its scopes, if the places are still those that were read. The caps
 * stand in the conditions once more, so that no misjudgement gets past them.
 */
export function takePlaces(
  slot: Slot,
  places: Places,
  limits: BreakerConfig,
  sets: ('inWork' | 'working')[],
): Write[] {
  const addToSet = Object.fromEntries(sets.map((set) => [set, [slot.nodeUid]]));
  const roomFor = (limit: number): Condition => ({
    kind: 'set-smaller-than',
    attribute: 'working',
    limit,
  });
  const versionStands: Condition =
    places.version === 0
      ? { kind: 'attribute-absent', attribute: 'version' }
      : { kind: 'equals', attribute: 'version', value: places.version };
  return updatePlaces(slot, ({ kind }) => {
    if (kind === 'zone') return { addToSet };
    if (kind === 'pool') return { addToSet, condition: roomFor(limits.parallelPerPool) };
    return {
      addToSet,
      set: { fence: Math.max(places.fence, slot.fence) },
      condition: { kind: 'all', of: [versionStands, roomFor(limits.parallelPerCluster)] },
    };
  });
}

/** The slot is still the one that was read: same owner, same fence. */
export function stillOwned(slot: Slot): Condition[] {
  return [
    { kind: 'equals', attribute: 'execution', value: slot.execution },
    { kind: 'equals', attribute: 'fence', value: slot.fence },
  ];
}

type PlacesUpdate = Extract<Write, { kind: 'update' }>;

/**
 * One update for each scope of a node: its pool, its zone, the cluster. Every change to a slot
 * goes through the cluster's item and raises its version, which makes the changes follow one
 * another.
 */
export function updatePlaces(
  node: { cluster: string; pool?: string; zone?: string },
  change: (scope: Scope) => Omit<PlacesUpdate, 'kind' | 'key'>,
): Write[] {
  return scopesContaining(node).map((scope) => {
    const update = change(scope);
    return {
      kind: 'update',
      key: placesKey(node.cluster, scope),
      ...update,
      increment: { version: 1 },
    };
  });
}
