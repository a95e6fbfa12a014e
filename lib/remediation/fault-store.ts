import { type FaultCause, faultCauses } from '../gap/fault.ts';
import type { ItemKey, StateTable } from '../ports.ts';
import { oneOf, textsOf } from '../safety/item-fields.ts';
import { clusterPk } from '../safety/keys.ts';

/** Longer than an episode is likely to last, in seconds: what nobody clears goes away. */
const keptSeconds = 30 * 86_400;

/** What a node is isolated for. */
export interface RememberedFault {
  /** The DaemonSets, and conditions as `subjectOf` names them. */
  daemonSets: string[];
  cause: FaultCause;
}

/**
 * Keeps what a node was isolated for, beyond the execution: once the node bears nodegap's taint,
 * a pod that is deleted does not come back, and the fault cannot be seen any more.
 */
export class FaultStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** `at`: epoch ms. */
  async save(cluster: string, nodeUid: string, fault: RememberedFault, at: number): Promise<void> {
    const { daemonSets, cause } = fault;
    const ttl = Math.ceil(at / 1000) + keptSeconds;
    const item = { ...faultKey(cluster, nodeUid), daemonSets, cause, ttl };
    await this.#table.transact([{ kind: 'put', item }]);
  }

  async load(cluster: string, nodeUid: string): Promise<RememberedFault | undefined> {
    const item = await this.#table.get(faultKey(cluster, nodeUid));
    return item === undefined
      ? undefined
      : { daemonSets: textsOf(item, 'daemonSets'), cause: oneOf(item, 'cause', faultCauses) };
  }

  /** The node is not isolated any more. */
  async clear(cluster: string, nodeUid: string): Promise<void> {
    await this.#table.transact([{ kind: 'delete', key: faultKey(cluster, nodeUid) }]);
  }
}

function faultKey(cluster: string, nodeUid: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `fault#${nodeUid}` };
}
