import { conditionTaintsAreDue } from '../../lib/prevention/condition-taints/taint.ts';
import { conditionTaintsDue } from '../../lib/remediation/bus-events.ts';
import type { ClusterReading } from '../../lib/remediation/situation.ts';
import { clusterPk, prefixes } from '../../lib/safety/keys.ts';
import type { Ports } from './ports.ts';

/** Asks the router for a run of taint-conditions when there may be something to do for one. */
export async function askForConditionTaints(
  { publisher, table }: Pick<Ports, 'publisher' | 'table'>,
  { config, facts: { cluster, nodes } }: Pick<ClusterReading, 'config' | 'facts'>,
): Promise<void> {
  const due =
    conditionTaintsAreDue(nodes, config) ||
    // What was seen and is gone has to be forgotten, or it would count on when it returns.
    (config.conditionTaints.length > 0 &&
      (await table.query(clusterPk(cluster), prefixes.sighting)).length > 0);
  if (due) await publisher.publish([{ detailType: conditionTaintsDue, detail: { cluster } }]);
}
