import type { Condition, StateTable } from '../ports.ts';
import { optionalNumber, optionalText } from './item-fields.ts';
import { clusterPk } from './keys.ts';

/** The numbers of one scan. `at` is epoch ms. */
export interface ScanSummary {
  cluster: string;
  at: number;
  nodes: number;
  gaps: number;
  /** Node conditions that are faults, where any are configured. */
  conditions?: number;
  actionable: number;
  unknown: number;
  attempts: number;
}

/** What the next scan has to know of the last one. */
export interface LastScan {
  /** Epoch ms. */
  at: number;
  /** The state of the cluster that it saw. */
  resourceVersion?: string;
  /** When all pods were last read in full, epoch ms. */
  fullReadAt?: number;
  /** How long a read takes otherwise, in ms, in full and quickly. */
  usualFullMs?: number;
  usualQuickMs?: number;
}

/** No read takes as long: who is so far ahead had a wrong clock. */
const clockAheadMs = 5 * 60_000;

/** Keeps the numbers of the last scan of each cluster, so that a silent detector shows. */
export class ScanStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** An older read that is judged later changes nothing. `readAt` is epoch ms. */
  async save(summary: ScanSummary & LastScan & { readAt: number }): Promise<void> {
    const { cluster, readAt } = summary;
    const condition: Condition = {
      kind: 'any',
      of: [
        { kind: 'attribute-absent', attribute: 'readAt' },
        { kind: 'less-than', attribute: 'readAt', value: readAt },
      ],
    };
    const item = { ...keyOf(cluster), ...summary };
    const saved = await this.#table.transact([{ kind: 'put', item, condition }]);
    if (saved.kind !== 'condition-failed' || saved.item === undefined) return;
    // A clock that was ahead and is right again must not be waited for.
    const before = optionalNumber(saved.item, 'readAt') ?? readAt;
    if (before - readAt > clockAheadMs) await this.#table.transact([{ kind: 'put', item }]);
  }

  async load(cluster: string): Promise<LastScan | undefined> {
    const item = await this.#table.get(keyOf(cluster));
    const at = item === undefined ? undefined : optionalNumber(item, 'at');
    if (item === undefined || at === undefined) return undefined;
    const resourceVersion = optionalText(item, 'resourceVersion');
    const fullReadAt = optionalNumber(item, 'fullReadAt');
    const usualFullMs = optionalNumber(item, 'usualFullMs');
    const usualQuickMs = optionalNumber(item, 'usualQuickMs');
    return {
      at,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(fullReadAt === undefined ? {} : { fullReadAt }),
      ...(usualFullMs === undefined ? {} : { usualFullMs }),
      ...(usualQuickMs === undefined ? {} : { usualQuickMs }),
    };
  }
}

function keyOf(cluster: string) {
  return { pk: clusterPk(cluster), sk: 'last-scan' };
}
