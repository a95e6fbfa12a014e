/**
 * Clocks that can be waited on. Everything in local/ waits on one of them and on nothing else.
 */
import { setTimeout as realSleep } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';

export interface SleepingClock extends Clock {
  /** Resolves after `ms` of this clock's time; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Real milliseconds that waiting for `ms` of this clock's time takes. */
  realMs(ms: number): number;
  /** Runs something that is work and not waiting: its own time counts as it is. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Waits, inside `during`, for what somebody else works on, who may sleep meanwhile. For a clock
   * that stands still while anybody works; others need it not.
   */
  whileOthersWork?<T>(theirs: Promise<T>): Promise<T>;
}

/** The longest real wait of one timer, since the pace may change meanwhile. */
const longestTimerMs = 1_000;

/** Real time, as a test can replace it. */
export interface WallTime {
  /** Milliseconds from any fixed moment. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const wallTime: WallTime = {
  now: () => performance.now(),
  sleep: async (ms, signal) => void (await realSleep(ms, undefined, { signal })),
};

/**
 * Compresses waiting, from `start` (epoch ms), by `scale`; 1 is real time. Work is not compressed
 * by as much (`workScale`): a request that takes 50 ms on this computer would last seconds of
 * virtual time otherwise, and facts would be stale because the computer is slow.
 */
export class ScaledClock implements SleepingClock {
  readonly #scale: number;
  readonly #workScale: number;
  readonly #wall: WallTime;
  readonly #paceChanges = new Set<() => void>();
  #working = 0;
  /** Virtual and real time of the last change of pace. */
  #virtual: number;
  #real: number;

  constructor(start: number, scale: number, workScale = Math.min(scale, 4), wall = wallTime) {
    this.#virtual = start;
    this.#scale = scale;
    this.#workScale = workScale;
    this.#wall = wall;
    this.#real = wall.now();
  }

  now(): number {
    return Math.floor(this.#exactNow());
  }

  realMs(ms: number): number {
    return ms / this.#scale;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const end = this.#exactNow() + ms;
    for (let left = ms; left > 0; left = end - this.#exactNow()) {
      await this.#wait(Math.min(left / this.#pace, longestTimerMs), signal);
    }
    signal?.throwIfAborted();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#work(1);
    try {
      return await work();
    } finally {
      this.#work(-1);
    }
  }

  get #pace(): number {
    return this.#working > 0 ? this.#workScale : this.#scale;
  }

  #exactNow(): number {
    return this.#virtual + (this.#wall.now() - this.#real) * this.#pace;
  }

  #work(change: 1 | -1): void {
    const before = this.#pace;
    const now = this.#exactNow();
    this.#working += change;
    if (this.#pace === before) return;
    this.#virtual = now;
    this.#real = this.#wall.now();
    for (const wake of [...this.#paceChanges]) wake();
  }

  /** A real wait that a change of pace cuts short. */
  async #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const changed = new AbortController();
    const wake = () => changed.abort();
    this.#paceChanges.add(wake);
    try {
      const signals = signal === undefined ? [changed.signal] : [changed.signal, signal];
      await this.#wall.sleep(ms, AbortSignal.any(signals));
    } catch (error) {
      signal?.throwIfAborted();
      if (!changed.signal.aborted) throw error;
    } finally {
      this.#paceChanges.delete(wake);
    }
  }
}

/** The time of this computer, as it goes on also while the computer sleeps. */
export const realClock: SleepingClock = {
  now: () => Date.now(),
  realMs: (ms) => ms,
  async sleep(ms, signal) {
    const end = Date.now() + ms;
    for (let left = ms; left > 0; left = end - Date.now()) {
      await realSleep(Math.min(left, longestTimerMs), undefined, signal && { signal });
    }
    signal?.throwIfAborted();
  },
  during: (work) => work(),
};

/** Jumps ahead instead of waiting: for tests in which one thing waits at a time. */
export class JumpClock implements SleepingClock {
  #now: number;

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  realMs(): number {
    return 0;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#now += ms;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  /** Lets time pass without a sleeper. */
  advance(ms: number): void {
    this.#now += ms;
  }
}
