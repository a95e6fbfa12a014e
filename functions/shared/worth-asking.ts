import { poolOf } from '../../lib/gap/node-kinds.ts';
import { withinPlaces } from '../../lib/remediation/free-places.ts';
import type { WantedAttempt } from '../../lib/remediation/scan-plan.ts';
import type { ClusterReading } from '../../lib/remediation/situation.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import type { Slot } from '../../lib/safety/slots.ts';
import type { Ports } from './ports.ts';

/** Leaves out the nodes for which a full cap has no place yet. */
export async function worthAsking(
  ports: Pick<Ports, 'table' | 'clock' | 'metrics' | 'log'>,
  { facts: { cluster, nodes }, config }: ClusterReading,
  slots: readonly Slot[],
  wanted: WantedAttempt[],
): Promise<WantedAttempt[]> {
  if (wanted.length === 0) return [];
  const pools = new Map(nodes.map((node) => [node.metadata.uid, poolOf(node)]));
  const { attempts, left } = withinPlaces(wanted, {
    episodes: await new Episodes(ports.table, ports.clock).list(cluster),
    slots,
    limits: config.breaker,
    poolOf: (uid) => pools.get(uid),
  });
  for (const [code, count] of left) {
    ports.metrics.count('NotActionable', count, { cluster, code });
    ports.log.info('nodes that wait for a place', { cluster, code, count });
  }
  return attempts;
}
