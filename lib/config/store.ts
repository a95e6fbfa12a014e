import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { NodegapError } from '../errors.ts';
import type { Item, ItemKey, StateTable } from '../ports.ts';
import { textOf } from '../safety/item-fields.ts';
import { canonicalJson } from './canonical.ts';
import { type PublishedConfig, withLaterKeys } from './later-keys.ts';
import type { LoadedConfig } from './model.ts';

/** IAM keeps every function but the publishing one from writing to this partition. */
export const configPartition = 'CONFIG';

const CACHE_MS = 60_000;

/**
 * The configuration in the state table: each document under its sha256, and a pointer to the one
 * that holds. The pointer moves after the document is there, so it never points at nothing.
 */
export class ConfigStore {
  readonly #table: StateTable;
  readonly #clock: Clock;
  readonly #onStale: (error: unknown) => void;
  #cached: { loaded: LoadedConfig; readAt: number } | undefined;

  /** `onStale` is told why a configuration older than a minute is used, each time that one is. */
  constructor(table: StateTable, clock: Clock, onStale: (error: unknown) => void = () => {}) {
    this.#table = table;
    this.#clock = clock;
    this.#onStale = onStale;
  }

  /**
   * Makes a validated configuration the current one.
   * @throws NodegapError `ConfigChecksum` when the sum is not that of the document.
   */
  async publish(loaded: LoadedConfig): Promise<void> {
    const document = canonicalJson(loaded.config);
    demandSum(document, loaded.sha256);
    const publishedAt = this.#clock.now();
    await this.#table.transact([
      { kind: 'put', item: { ...documentKey(loaded.sha256), document, publishedAt } },
    ]);
    await this.#table.transact([
      { kind: 'put', item: { ...currentKey, sha256: loaded.sha256, publishedAt } },
    ]);
  }

  /**
   * The current configuration, at most a minute old. When it cannot be read, the last one that
   * could is kept, and reading is tried again with the next call.
   * @throws NodegapError `ConfigMissing` when none was ever published; whatever the table throws
   * when none was read yet.
   */
  async current(): Promise<LoadedConfig> {
    const now = this.#clock.now();
    const cached = this.#cached;
    if (cached !== undefined && now - cached.readAt < CACHE_MS) return cached.loaded;
    try {
      const loaded = await this.#read(cached?.loaded);
      this.#cached = { loaded, readAt: now };
      return loaded;
    } catch (error) {
      if (cached === undefined) throw error;
      this.#onStale(error);
      return cached.loaded;
    }
  }

  async #read(known: LoadedConfig | undefined): Promise<LoadedConfig> {
    const pointer = await this.#table.get(currentKey);
    if (pointer === undefined) {
      throw new NodegapError('ConfigMissing', 'no configuration was ever published', {
        hint: 'deploy the stack, which publishes it',
      });
    }
    const sha256 = textOf(pointer, 'sha256');
    if (known?.sha256 === sha256) return known;
    const item: Item | undefined = await this.#table.get(documentKey(sha256));
    if (item === undefined) {
      throw new NodegapError('ConfigMissing', `the configuration ${sha256} is not there`);
    }
    const document = textOf(item, 'document');
    demandSum(document, sha256);
    // It was validated before it was published, and the sum says that it is the same text.
    const published: PublishedConfig = JSON.parse(document);
    return { config: withLaterKeys(published), sha256 };
  }
}

const currentKey: ItemKey = { pk: configPartition, sk: 'current' };

function documentKey(sha256: string): ItemKey {
  return { pk: configPartition, sk: `sha256#${sha256}` };
}

function demandSum(document: string, sha256: string): void {
  if (createHash('sha256').update(document).digest('hex') !== sha256) {
    throw new NodegapError('ConfigChecksum', `the configuration is not the one of sum ${sha256}`);
  }
}
