import { createInterface } from 'node:readline';
import type { KubeClient } from '../harness/client.ts';

/** One object as it was from some moment on; etcd's revision orders the moments of all kinds. */
export interface Change<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  revision: number;
  object: T;
}

interface Versioned {
  metadata: { resourceVersion?: string };
}

/** Every state that the objects of a list go through, by watching them. */
export class Recorder<T extends Versioned> {
  /** Oldest first, beginning with the objects that were there. */
  readonly changes: Change<T>[] = [];
  readonly #stopped = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  private constructor() {}

  /** Returns once it has the present state, so that nothing that follows is missed. */
  static async start<T extends Versioned>(client: KubeClient, path: string): Promise<Recorder<T>> {
    const recorder = new Recorder<T>();
    const list = await client.get<{ metadata: { resourceVersion: string }; items: T[] }>(path);
    for (const object of list.items) recorder.#add('ADDED', object);
    const from = list.metadata.resourceVersion;
    const stream = await client.stream(
      `${path}${path.includes('?') ? '&' : '?'}watch=true&resourceVersion=${from}`,
      recorder.#stopped.signal,
    );
    recorder.#watching = recorder.#follow(createInterface({ input: stream }));
    // Told by stop(); until then nobody listens.
    recorder.#watching.catch(() => undefined);
    return recorder;
  }

  /** Ends the watch. It throws when the watch had ended by itself, for then changes are missing. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
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
