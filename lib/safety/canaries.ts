/**
 * The one node in a cluster that is taken for a DaemonSet while the blame is unclear. No other is
 * taken before its case is settled or its episode closed, and none for a day after a failure.
 */
import type { Condition, Item, StateTable, Write } from '../ports.ts';
import { KEEP_NUMBERS_SECONDS } from './episode-items.ts';
import { numberOf, oneOf, textOf } from './item-fields.ts';
import { canaryKey, clusterPk, episodeKey, prefixes } from './keys.ts';

/**
 * `cured`: the replacement is healthy. `given-up`: the node was released, not replaced.
 * `unverified`: how the replacement does could not be told.
 */
export type CanaryOutcome = 'cured' | 'given-up' | 'same-gap' | 'unverified';
const CANARY_STATES = ['taken', 'same-gap', 'unverified'] as const;

const BLOCK_AFTER_FAILURE_MS = 24 * 3_600_000;

export interface Canary {
  daemonSet: string;
  node: string;
  nodeUid: string;
  execution: string;
  takenAt: number;
  state: (typeof CANARY_STATES)[number];
  /** Epoch ms until which no other is taken, 0 while the outcome is open. */
  blockedUntil: number;
}

/** The canary of a DaemonSet, with whether its node's episode is known to be over. */
export interface CanaryReading {
  canary: Canary;
  episodeClosed: boolean;
}

/** Whether the node may become the canary. */
export function canaryFree(
  reading: CanaryReading | undefined,
  nodeUid: string,
  now: number,
): boolean {
  if (reading === undefined) return true;
  const { canary, episodeClosed } = reading;
  if (canary.state !== 'taken') return canary.blockedUntil <= now;
  return canary.nodeUid === nodeUid || episodeClosed;
}

/** The writes that take the place, provided that nothing changed since it was read as free. */
export function takeCanary(
  cluster: string,
  next: Omit<Canary, 'state' | 'blockedUntil'>,
  reading: CanaryReading | undefined,
): Write[] {
  const key = canaryKey(cluster, next.daemonSet);
  const before = reading?.canary;
  const ttl = Math.ceil(next.takenAt / 1000) + KEEP_NUMBERS_SECONDS;
  const item: Item = { ...key, ...next, state: 'taken', blockedUntil: 0, ttl };
  if (before === undefined) return [{ kind: 'put', item, condition: { kind: 'absent' } }];
  const put: Write = {
    kind: 'put',
    item,
    condition: {
      kind: 'all',
      of: [
        { kind: 'equals', attribute: 'nodeUid', value: before.nodeUid },
        { kind: 'equals', attribute: 'takenAt', value: before.takenAt },
        { kind: 'equals', attribute: 'state', value: before.state },
      ],
    },
  };
  const takenOver = before.state === 'taken' && before.nodeUid !== next.nodeUid;
  return takenOver ? [put, episodeStaysClosed(cluster, before.nodeUid)] : [put];
}

function episodeStaysClosed(cluster: string, nodeUid: string): Write {
  return {
    kind: 'check',
    key: episodeKey(cluster, nodeUid),
    condition: { kind: 'equals', attribute: 'state', value: 'closed' },
  };
}

export async function readCanary(
  table: StateTable,
  cluster: string,
  daemonSet: string,
): Promise<CanaryReading | undefined> {
  const item = await table.get(canaryKey(cluster, daemonSet));
  if (item === undefined) return undefined;
  const canary = canaryFrom(item);
  const episode = await table.get(episodeKey(cluster, canary.nodeUid));
  return { canary, episodeClosed: episode?.state === 'closed' };
}

/** All canaries of a cluster: those at work, and those whose failure still counts. */
export async function listCanaries(table: StateTable, cluster: string): Promise<Canary[]> {
  return (await table.query(clusterPk(cluster), prefixes.canary)).map(canaryFrom);
}

/** Closes the case of one canary. Only for the node that has the place, and only once. */
export async function settleCanary(
  table: StateTable,
  target: { cluster: string; daemonSet: string; nodeUid: string },
  outcome: CanaryOutcome,
  now: number,
): Promise<void> {
  const key = canaryKey(target.cluster, target.daemonSet);
  const condition: Condition = {
    kind: 'all',
    of: [
      { kind: 'equals', attribute: 'nodeUid', value: target.nodeUid },
      { kind: 'equals', attribute: 'state', value: 'taken' },
    ],
  };
  const failed = outcome === 'same-gap' || outcome === 'unverified';
  await table.transact([
    failed
      ? {
          kind: 'update',
          key,
          set: { state: outcome, blockedUntil: now + BLOCK_AFTER_FAILURE_MS },
          condition,
        }
      : { kind: 'delete', key, condition },
  ]);
}

function canaryFrom(item: Item): Canary {
  return {
    daemonSet: textOf(item, 'daemonSet'),
    node: textOf(item, 'node'),
    nodeUid: textOf(item, 'nodeUid'),
    execution: textOf(item, 'execution'),
    takenAt: numberOf(item, 'takenAt'),
    state: oneOf(item, 'state', CANARY_STATES),
    blockedUntil: numberOf(item, 'blockedUntil'),
  };
}
