import type { Config } from '../config/model.ts';
import type { ClusterFacts } from '../gap/model.ts';
import { leftOut, zoneOf } from '../gap/node-kinds.ts';
import { isReadInFull } from '../gap/pod-reads.ts';
import { type ObserverDoubt, observerDoubt, usualAfter } from '../safety/observer-health.ts';
import type { LastScan } from '../safety/scan-store.ts';
import { claimFinder } from './actionable.ts';

/** Why what was read may not be believed as a whole, at `now` (epoch ms); undefined when it may. */
export function observerOf(
  facts: ClusterFacts,
  config: Config,
  lastScan: LastScan | undefined,
  now: number,
): ObserverDoubt | undefined {
  const claimFor = claimFinder(facts);
  const usualMs = isReadInFull(facts) ? lastScan?.usualFullMs : lastScan?.usualQuickMs;
  return observerDoubt({
    nodes: facts.nodes,
    now,
    isCounted: (node) => leftOut(node, claimFor(node)) === undefined,
    zoneOf,
    nodeGraceMs: config.timings.nodeGrace * 1000,
    tookMs: now - facts.readAt,
    ...(usualMs === undefined ? {} : { usualMs }),
    ...(facts.clockAheadMs === undefined ? {} : { clockAheadMs: facts.clockAheadMs }),
  });
}

/** What the next scan takes for usual. A quick read takes a part of the time of a full one. */
export function usualDurations(reading: {
  facts: ClusterFacts;
  lastScan: LastScan | undefined;
  now: number;
}): Pick<LastScan, 'usualFullMs' | 'usualQuickMs'> {
  const { facts, lastScan, now } = reading;
  const name = isReadInFull(facts) ? 'usualFullMs' : 'usualQuickMs';
  const other = isReadInFull(facts) ? 'usualQuickMs' : 'usualFullMs';
  const kept = lastScan?.[other];
  return {
    [name]: usualAfter(lastScan?.[name], now - facts.readAt),
    ...(kept === undefined ? {} : { [other]: kept }),
  };
}
