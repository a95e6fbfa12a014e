/** The keys of the state table's items. docs/state-table.md lists them with their attributes. */
import type { ItemKey } from '../ports.ts';
import { CLUSTER_SCOPE, type Scope } from './scope.ts';

/** Partition of everything that is kept about a cluster but its gap records. */
export function clusterPk(cluster: string): string {
  return `cluster#${cluster}`;
}

export const prefixes = {
  slot: 'slot#',
  places: 'places#',
  measured: 'breaker#measured#',
  trip: 'breaker#trip#',
  pause: 'pause#',
  canary: 'canary#',
  episode: 'episode#',
  refuted: 'refuted#',
  status: 'status#',
  badReplacements: 'replacements-bad#',
  order: 'order#',
  sighting: 'condition-sighting#',
} as const;

/** The time of the newest scan that kept gap records. */
export function newestScanKey(cluster: string): ItemKey {
  return { pk: clusterPk(cluster), sk: 'newest-scan' };
}

/** The execution of `admit-nodes` that works on the cluster, or the last one. */
export function admissionKey(cluster: string): ItemKey {
  return { pk: clusterPk(cluster), sk: 'admission' };
}

/** That people were told of a startup taint which nobody will take off. */
export function orphanTaintKey(cluster: string, name: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `admission-told#${name}` };
}

/** Which findings of the audit people know of. */
export function auditKey(cluster: string): ItemKey {
  return { pk: clusterPk(cluster), sk: 'audit' };
}

export function slotKey(cluster: string, nodeUid: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.slot}${nodeUid}` };
}

/** The places that are taken in a scope. */
export function placesKey(cluster: string, scope: Scope): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.places}${scopePart(scope)}` };
}

/** The breaker state of a scope as the scan measured it. */
export function measuredKey(cluster: string, scope: Scope): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.measured}${scopePart(scope)}` };
}

/** A trip of a scope's breaker by a person. */
export function tripKey(cluster: string, scope: Scope): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.trip}${scopePart(scope)}` };
}

/** A pause of a pool, or of the whole cluster. */
export function pauseKey(cluster: string, pool: string | undefined): ItemKey {
  const scope: Scope = pool === undefined ? CLUSTER_SCOPE : { kind: 'pool', name: pool };
  return { pk: clusterPk(cluster), sk: `${prefixes.pause}${scopePart(scope)}` };
}

/** The replacements of the last hour. */
export function hourKey(cluster: string): ItemKey {
  return { pk: clusterPk(cluster), sk: 'replacements-hour' };
}

/** The replacements of a pool that turned out bad. */
export function badReplacementsKey(cluster: string, pool: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.badReplacements}${pool}` };
}

export function canaryKey(cluster: string, daemonSet: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.canary}${daemonSet}` };
}

export function episodeKey(cluster: string, nodeUid: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `${prefixes.episode}${nodeUid}` };
}

/** Numbers are padded, so that the order of sort keys is the order of attempts. */
export function attemptKey(
  cluster: string,
  nodeUid: string,
  episode: number,
  attempt: number,
): ItemKey {
  const number = (value: number) => String(value).padStart(6, '0');
  return {
    pk: clusterPk(cluster),
    sk: `${attemptPrefix(nodeUid)}${number(episode)}#${number(attempt)}`,
  };
}

export function attemptPrefix(nodeUid: string): string {
  return `attempt#${nodeUid}#`;
}

function scopePart(scope: Scope): string {
  return scope.kind === 'cluster' ? 'cluster' : `${scope.kind}#${scope.name}`;
}
