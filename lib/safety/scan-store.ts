import type { StateTable } from '../ports.ts';
import { optionalNumber, optionalText } from './item-fields.ts';
import { clusterPk } from './keys.ts';

/** The numbers of one scan. `at` is epoch ms. */
export interface ScanSummary {
  cluster: string;
  at: number;
  nodes: number;
  gaps: number;
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
}

/** Keeps the numbers of the last scan of each cluster, so that a silent detector shows. */
export class ScanStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  async save(summary: ScanSummary & LastScan): Promise<void> {
    await this.#table.transact([{ kind: 'put', item: { ...keyOf(summary.cluster), ...summary } }]);
  }

  async load(cluster: string): Promise<LastScan | undefined> {
    const item = await this.#table.get(keyOf(cluster));
    const at = item === undefined ? undefined : optionalNumber(item, 'at');
    if (item === undefined || at === undefined) return undefined;
    const resourceVersion = optionalText(item, 'resourceVersion');
    const fullReadAt = optionalNumber(item, 'fullReadAt');
    return {
      at,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(fullReadAt === undefined ? {} : { fullReadAt }),
    };
  }
}

function keyOf(cluster: string) {
  return { pk: clusterPk(cluster), sk: 'last-scan' };
}
