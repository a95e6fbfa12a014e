import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SleepingClock } from '../../local/clock.ts';

interface Sleeper {
  at: number;
  order: number;
  wake: () => void;
}

/**
 * Discrete-event time: it stands still while anything works, and jumps from one sleeper to the
 * next when nothing does. So a run is the same however slow the machine is.
 *
 * How it knows that nothing works: everything that waits on I/O does so inside `during`; what is
 * outside goes from one sleep to the next in microtasks, which a few turns of the loop drain. Work
 * that sleeps in between (a retry with back-off) does not count as work meanwhile.
 */
export class DiscreteClock implements SleepingClock {
  #now: number;
  #working = 0;
  #order = 0;
  #sleepers: Sleeper[] = [];
  readonly #atWork = new AsyncLocalStorage<true>();

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  realMs(): number {
    return 0;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#working++;
    try {
      return await this.#atWork.run(true, work);
    } finally {
      this.#working--;
    }
  }

  async whileOthersWork<T>(theirs: Promise<T>): Promise<T> {
    if (this.#atWork.getStore() === undefined) return theirs;
    this.#working--;
    try {
      return await theirs;
    } finally {
      this.#working++;
    }
  }

  /** Runs something that goes on by itself, although work began it: an execution. */
  apart<T>(begin: () => T): T {
    return this.#atWork.exit(begin);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#atWork.getStore() === undefined) return this.#sleep(ms, signal);
    this.#working--;
    try {
      await this.#sleep(ms, signal);
    } finally {
      this.#working++;
    }
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const sleeper: Sleeper = { at: this.#now + ms, order: this.#order++, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      });
    });
  }

  /** Lets `ms` pass, with all that falls into it. */
  async run(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await this.#idle();
      const next = this.#sleepers.toSorted((a, b) => a.at - b.at || a.order - b.order)[0];
      if (next === undefined || next.at > end) break;
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    this.#now = end;
  }

  /** Jumps ahead, as for who was suspended: everything that fell into it is late. */
  jump(ms: number): void {
    this.#now += ms;
  }

  async #idle(): Promise<void> {
    for (let quiet = 0; quiet < 5; ) {
      await nextTurn();
      quiet = this.#working > 0 ? 0 : quiet + 1;
    }
  }
}
