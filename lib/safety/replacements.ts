/** How the replacements of a pool turned out: two bad ones, and work there stops. */
import type { StateTable } from '../ports.ts';
import { setOf } from './item-fields.ts';
import { badReplacementsKey, clusterPk, prefixes } from './keys.ts';

export class Replacements {
  readonly #table: StateTable;

  constructor(table: StateTable) {
    this.#table = table;
  }

  /**
   * Keeps how one replacement turned out. A good one clears the bad ones before it. Twice for the
   * same execution is the same as once.
   */
  async record(result: {
    cluster: string;
    pool: string;
    execution: string;
    verdict: 'good' | 'bad';
  }): Promise<void> {
    const key = badReplacementsKey(result.cluster, result.pool);
    await this.#table.transact([
      result.verdict === 'good'
        ? { kind: 'delete', key }
        : { kind: 'update', key, addToSet: { executions: [result.execution] } },
    ]);
  }

  /** The executions whose replacements were bad, since the last good one. */
  async bad(cluster: string, pool: string): Promise<Set<string>> {
    return setOf(await this.#table.get(badReplacementsKey(cluster, pool)), 'executions');
  }

  /** How many were bad since the last good one, by pool. */
  async list(cluster: string): Promise<Map<string, number>> {
    const items = await this.#table.query(clusterPk(cluster), prefixes.badReplacements);
    return new Map(
      items.map((item) => [
        item.sk.slice(prefixes.badReplacements.length),
        setOf(item, 'executions').size,
      ]),
    );
  }

  /** A person has looked into it: work in the pool may begin again. */
  async reset(cluster: string, pool: string): Promise<void> {
    await this.#table.transact([{ kind: 'delete', key: badReplacementsKey(cluster, pool) }]);
  }
}
