import type { ClusterReading } from '../../lib/remediation/situation.ts';
import { type Overview, overviewOf, saveOverview } from '../../lib/safety/overview-store.ts';
import type { Ports } from './ports.ts';

/** Keeps what a scan has seen for people who ask for the status. */
export async function keepOverview(
  ports: Pick<Ports, 'table' | 'installation'>,
  { now, counts, facts }: ClusterReading,
  holds: Overview['holds'],
): Promise<void> {
  const { nodes } = facts;
  const seen = { at: now, counts, nodes, holds, installation: ports.installation };
  await saveOverview(ports.table, facts.cluster, overviewOf(seen));
}
