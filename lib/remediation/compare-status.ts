import { detectionPolicyOf } from '../config/required.ts';
import type { UnknownEntry } from '../gap/model.ts';
import {
  crossChecksOf,
  lastingDisagreements,
  nextDisagreements,
  unknownOf,
} from '../gap/status-check.ts';
import type { StateTable } from '../ports.ts';
import { StatusStore } from '../safety/status-store.ts';
import type { ClusterReading } from './situation.ts';

/** Of what was between scans that are further apart nothing is known. */
const leastUnseenMs = 5 * 60_000;

/**
 * Required DaemonSets whose status has for long counted other nodes than nodegap, each as something
 * unknown; remembers for the next scan what this one saw. It is kept apart from the detection,
 * since no decision about a node may rest on it.
 */
export async function compareStatus(
  table: StateTable,
  { config, facts, now }: Pick<ClusterReading, 'config' | 'facts' | 'now'>,
): Promise<UnknownEntry[]> {
  const store = new StatusStore(table);
  const before = await store.load(facts.cluster);
  const checks = crossChecksOf(facts, detectionPolicyOf(config, { allDaemonSets: false }));
  const unseenMs = Math.max(leastUnseenMs, 3 * config.timings.scan * 1000);
  const next = nextDisagreements(before, checks, now, { unseenMs });
  await store.save(facts.cluster, before, next);
  return lastingDisagreements(next, now).map(unknownOf);
}
