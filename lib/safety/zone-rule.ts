import type { ScopeCount } from './scope-counts.ts';

/**
 * Whether the zone seems to be at fault and not its nodes: at least `zoneAtLeast` of them are
 * unhealthy, these are nine tenths or more of all unhealthy nodes of the cluster, and the zone has
 * at most half of the cluster's nodes (in a larger one most of them would be anyway). Five nodes
 * that fail by themselves are all in one of three equal zones once in 81 times.
 */
export function isZoneSuspect(zone: ScopeCount, cluster: ScopeCount | undefined): boolean {
  return (
    zone.kind === 'zone' &&
    zone.zoneAtLeast !== undefined &&
    cluster !== undefined &&
    zone.unhealthy >= zone.zoneAtLeast &&
    zone.unhealthy * 10 >= cluster.unhealthy * 9 &&
    zone.total * 2 <= cluster.total
  );
}

/** The numbers of both, for a message. */
export function zoneRuleText(zone: ScopeCount, cluster: ScopeCount): string {
  return `open because ${zone.unhealthy} >= ${zone.zoneAtLeast} (breaker.unhealthyInOneZone) and ${zone.unhealthy} of the cluster's ${cluster.unhealthy} unhealthy nodes are in this zone (nine tenths or more), which has ${zone.total} of ${cluster.total} nodes (half or fewer): the zone seems to be at fault`;
}
