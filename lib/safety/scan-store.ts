import type { StateTable } from '../ports.ts';
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

/** Keeps the numbers of the last scan of each cluster, so that a silent detector shows. */
export class ScanStore {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  async save(summary: ScanSummary): Promise<void> {
    const key = { pk: clusterPk(summary.cluster), sk: 'last-scan' };
    await this.#table.transact([{ kind: 'put', item: { ...key, ...summary } }]);
  }
}
