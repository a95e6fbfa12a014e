import { setTimeout as realSleep } from 'node:timers/promises';
import type { SleepingClock } from '../../local/clock.ts';

/** One time for the test, its cluster and the processes that it starts: `scale` times as fast. */
export class SharedClock implements SleepingClock {
  readonly settings: { start: number; real: number; scale: number };

  constructor(settings: { start: number; real: number; scale: number }) {
    this.settings = settings;
  }

  now(): number {
    const { start, real, scale } = this.settings;
    return Math.floor(start + (Date.now() - real) * scale);
  }

  realMs(ms: number): number {
    return ms / this.settings.scale;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await realSleep(this.realMs(ms), undefined, signal && { signal });
  }

  during<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
}
