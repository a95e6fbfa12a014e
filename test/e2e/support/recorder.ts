import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '../harness/client.ts';

/** One object as it was from some moment on; etcd's revision orders the moments of all kinds. */
export interface Change<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  revision: number;
  object: T;
}

interface Versioned {
  metadata: { uid?: string; resourceVersion?: string };
}

export interface RecorderOptions {
  /** Begins again when the watch is cut, and so misses states that lasted a moment only. */
  resumes?: boolean;
}

/** Every state that the objects of a list go through, by watching them. */
export class Recorder<T extends Versioned> {
  /** Oldest first, beginning with the objects that were there. */
  readonly changes: Change<T>[] = [];
  readonly #stopped = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  private constructor() {}

  /** Returns once it has the present state, so that nothing that follows is missed. */
  static async start<T extends Versioned>(
    client: KubeClient,
    path: string,
    { resumes = false }: RecorderOptions = {},
  ): Promise<Recorder<T>> {
    const recorder = new Recorder<T>();
    const first = await recorder.#begin(client, path);
    recorder.#watching = resumes
      ? recorder.#followOn(first, () => recorder.#begin(client, path))
      : recorder.#follow(first);
    // Told by stop(); until then nobody listens.
    recorder.#watching.catch(() => undefined);
    return recorder;
  }

  /** Ends the watch. It throws when the watch had ended by itself, for then changes are missing. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
  }

  /** Takes up the present state, as far as it is news, and what follows it. */
  async #begin(client: KubeClient, path: string): Promise<AsyncIterable<string>> {
    const list = await client.get<{ metadata: { resourceVersion: string }; items: T[] }>(path);
    const present = new Set(list.items.map(({ metadata }) => metadata.uid));
    for (const [uid, last] of this.#latest()) {
      const revision = Number(list.metadata.resourceVersion);
      if (!present.has(uid)) this.changes.push({ ...last, type: 'DELETED', revision });
    }
    const known = this.#latest();
    for (const object of list.items) {
      const before = known.get(object.metadata.uid);
      if (before === undefined) this.#add('ADDED', object);
      else if (before.revision !== Number(object.metadata.resourceVersion)) {
        this.#add('MODIFIED', object);
      }
    }
    const from = list.metadata.resourceVersion;
    const stream = await client.stream(
      `${path}${path.includes('?') ? '&' : '?'}watch=true&resourceVersion=${from}`,
      this.#stopped.signal,
    );
    return createInterface({ input: stream });
  }

  /** The objects that are there, by uid. */
  #latest(): Map<string | undefined, Change<T>> {
    const latest = new Map<string | undefined, Change<T>>();
    for (const change of this.changes) {
      const { uid } = change.object.metadata;
      if (change.type === 'DELETED') latest.delete(uid);
      else latest.set(uid, change);
    }
    return latest;
  }

  async #followOn(
    first: AsyncIterable<string>,
    again: () => Promise<AsyncIterable<string>>,
  ): Promise<void> {
    let lines: AsyncIterable<string> | undefined = first;
    while (!this.#stopped.signal.aborted) {
      try {
        lines ??= await again();
        await this.#follow(lines);
      } catch {
        // The API server is away: that is what the test does to it.
        lines = undefined;
        await sleep(100);
      }
    }
  }

  async #follow(lines: AsyncIterable<string>): Promise<void> {
    try {
      for await (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: T };
        if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') {
          throw new Error(`the watch brought ${line.slice(0, 300)}`);
        }
        this.#add(type, object);
      }
    } catch (error) {
      if (!this.#stopped.signal.aborted) throw error;
    }
    if (!this.#stopped.signal.aborted) throw new Error('the watch ended by itself');
  }

  #add(type: Change<T>['type'], object: T): void {
    this.changes.push({ type, revision: Number(object.metadata.resourceVersion), object });
  }
}
