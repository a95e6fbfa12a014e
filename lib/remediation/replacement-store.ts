import type { ItemKey, StateTable } from '../ports.ts';
import {
  numberOf,
  optionalNumber,
  optionalText,
  stored,
  textOf,
  textsOf,
} from '../safety/item-fields.ts';
import { clusterPk } from '../safety/keys.ts';
import type { CommittedReplacement } from './verification.ts';

/** Longer than any verification lasts, in seconds: the memory of one that nobody ended goes away. */
const keptSeconds = 30 * 86_400;

/** What was known of a node when its replacement was committed: verification rests on it. */
export class ReplacementStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** Written right before the one call that destroys. Twice is the same as once. */
  async save(cluster: string, committed: CommittedReplacement): Promise<void> {
    const { claim, machine, ...rest } = committed;
    await this.#table.transact([
      {
        kind: 'put',
        item: {
          ...replacementKey(cluster, committed.nodeUid),
          ...stored({
            ...rest,
            claim: claim?.name,
            claimUid: claim?.uid,
            machine: machine?.id,
            group: machine?.group,
            desired: machine?.desired,
            ttl: Math.ceil(committed.committedAt / 1000) + keptSeconds,
          }),
        },
      },
    ]);
  }

  /** Since when it is quiet, as a scan found that verifies for a dead execution (epoch ms). */
  async noteQuiet(cluster: string, nodeUid: string, since: number | undefined): Promise<void> {
    await this.#table.transact([
      {
        kind: 'update',
        key: replacementKey(cluster, nodeUid),
        ...(since === undefined ? { remove: ['quietSince'] } : { set: { quietSince: since } }),
        condition: { kind: 'present' },
      },
    ]);
  }

  async load(
    cluster: string,
    nodeUid: string,
  ): Promise<(CommittedReplacement & { quietSince?: number }) | undefined> {
    const item = await this.#table.get(replacementKey(cluster, nodeUid));
    if (item === undefined) return undefined;
    const claim = optionalText(item, 'claim');
    const machine = optionalText(item, 'machine');
    const instance = optionalText(item, 'instance');
    const pool = optionalText(item, 'pool');
    const quietSince = optionalNumber(item, 'quietSince');
    return {
      node: textOf(item, 'node'),
      nodeUid: textOf(item, 'nodeUid'),
      ...(claim === undefined ? {} : { claim: { name: claim, uid: textOf(item, 'claimUid') } }),
      ...(machine === undefined
        ? {}
        : {
            machine: {
              id: machine,
              group: textOf(item, 'group'),
              desired: numberOf(item, 'desired'),
            },
          }),
      ...(instance === undefined ? {} : { instance }),
      ...(pool === undefined ? {} : { pool }),
      ...(quietSince === undefined ? {} : { quietSince }),
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
