import { setTimeout as realSleep } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';

/** A clock that can also be waited on. Everything in local/ waits on it and on nothing else. */
export interface SleepingClock extends Clock {
  /** Resolves after `ms` of this clock's time; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Real milliseconds that `ms` of this clock's time take. */
  realMs(ms: number): number;
}

/** Runs `scale` times as fast as the wall clock, from `start` (epoch ms). 1 is real time. */
export class ScaledClock implements SleepingClock {
  readonly #start: number;
  readonly #scale: number;
  readonly #realStart = performance.now();

  constructor(start: number, scale: number) {
    this.#start = start;
    this.#scale = scale;
  }

  now(): number {
    return Math.floor(this.#start + (performance.now() - this.#realStart) * this.#scale);
  }

  realMs(ms: number): number {
    return ms / this.#scale;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await realSleep(this.realMs(ms), undefined, signal === undefined ? {} : { signal });
  }
}

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

  /** Lets time pass without a sleeper. */
  advance(ms: number): void {
    this.#now += ms;
  }
}
