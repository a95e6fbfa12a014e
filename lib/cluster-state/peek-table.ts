/** The state in a cluster for who only looks: one read of all of it, and nothing is ever written. */
import { NodegapError } from '../errors.ts';
import type { Transport } from '../kubernetes/transport.ts';
import type { Item, StateTable } from '../ports.ts';
import { itemFromText } from './item-text.ts';
import { journalFrom, ownerOf } from './journal.ts';
import { itemParts } from './layout.ts';
import { JOURNAL, Objects } from './objects.ts';

export interface PeekOptions {
  installation: string;
  namespace: string;
  /** Between two looks while somebody else writes. */
  sleep(ms: number): Promise<void>;
}

export interface Peek {
  table: StateTable;
  /** The name of the cluster in the keys; undefined where there is no state yet. */
  cluster: string | undefined;
}

const inConfigMaps = itemParts.filter((part) => part !== 'slot');

/** Looks while a transaction is under way, and the time between them. */
const looks = 10;
const betweenMs = 500;

/**
 * Reads the state as it is at this moment; an empty one where nobody has made it yet. Unlike the
 * table that works, it completes nothing that others have begun: it waits for them, for a while.
 * @throws KubernetesError when it cannot be read; NodegapError `State.Busy`, and those of a journal.
 */
export async function peekState(transport: Transport, options: PeekOptions): Promise<Peek> {
  const objects = new Objects(transport, options.namespace);
  for (let look = 1; look <= looks; look += 1) {
    const configMaps = await objects.listParts(['journal', ...inConfigMaps]);
    const journal = configMaps.find(({ name }) => name === JOURNAL);
    if (journal === undefined) return { table: emptyState, cluster: undefined };
    const { transaction } = journalFrom(journal, options.namespace, options.installation);
    const leases = await objects.listSlots();
    const after = await objects.get('configmap', JOURNAL);
    if (transaction === undefined && after?.resourceVersion === journal.resourceVersion) {
      const kept = [...configMaps.filter((object) => object !== journal), ...leases];
      const items = kept.flatMap(({ kind, name, texts }) =>
        Object.entries(texts).map(([key, text]) => itemFromText(text, `${kind} ${name}, ${key}:`)),
      );
      return { table: tableOf(items), cluster: ownerOf(journal)?.cluster };
    }
    await options.sleep(betweenMs);
  }
  throw new NodegapError('State.Busy', 'the state in the cluster kept changing while it was read', {
    hint: 'another nodegap works on the cluster; try again',
  });
}

/** What there is where nobody has made the state yet, or where it may not be read. */
export const emptyState: StateTable = tableOf([]);

function tableOf(items: readonly Item[]): StateTable {
  const sorted = items.toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
  return {
    get: async ({ pk, sk }) => sorted.find((item) => item.pk === pk && item.sk === sk),
    query: async (pk, prefix) =>
      sorted.filter((item) => item.pk === pk && item.sk.startsWith(prefix)),
    transact: () => {
      throw new TypeError('who only looks writes nothing');
    },
  };
}
