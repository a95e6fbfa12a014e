import type { ItemKey, StateTable } from '../ports.ts';
import { numberOf, optionalText, stored, textOf, textsOf } from '../safety/item-fields.ts';
import { clusterPk } from '../safety/keys.ts';
import type { CommittedReplacement } from './verification.ts';

/** What was known of a node when its replacement was committed: verification rests on it. */
export class ReplacementStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** Written right before the one call that destroys. Twice is the same as once. */
  async save(cluster: string, committed: CommittedReplacement): Promise<void> {
    const { claim, ...rest } = committed;
    await this.#table.transact([
      {
        kind: 'put',
        item: {
          ...replacementKey(cluster, committed.nodeUid),
          ...stored({ ...rest, claim: claim?.name, claimUid: claim?.uid }),
        },
      },
    ]);
  }

  async load(cluster: string, nodeUid: string): Promise<CommittedReplacement | undefined> {
    const item = await this.#table.get(replacementKey(cluster, nodeUid));
    if (item === undefined) return undefined;
    const claim = optionalText(item, 'claim');
    const pool = optionalText(item, 'pool');
    return {
      node: textOf(item, 'node'),
      nodeUid: textOf(item, 'nodeUid'),
      ...(claim === undefined ? {} : { claim: { name: claim, uid: textOf(item, 'claimUid') } }),
      ...(pool === undefined ? {} : { pool }),
      committedAt: numberOf(item, 'committedAt'),
      since: numberOf(item, 'since'),
      daemonSets: textsOf(item, 'daemonSets'),
      owners: textsOf(item, 'owners'),
    };
  }

  async clear(cluster: string, nodeUid: string): Promise<void> {
    await this.#table.transact([{ kind: 'delete', key: replacementKey(cluster, nodeUid) }]);
  }
}

function replacementKey(cluster: string, nodeUid: string): ItemKey {
  return { pk: clusterPk(cluster), sk: `replacement#${nodeUid}` };
}
