import { describe, expect, it } from 'vitest';
import { ScaledClock, type WallTime } from '../../local/clock.ts';

const noon = Date.parse('2026-11-29T12:00:00Z');

/** Real time that moves when the test says so. */
class ManualWall implements WallTime {
  #now = 0;
  #sleepers: { at: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
      this.#sleepers.push({ at: this.#now + ms, wake: resolve });
    });
  }

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    while (this.#now < end) {
      this.#now = Math.min(end, this.#now + 1);
      for (const sleeper of this.#sleepers.filter(({ at }) => at <= this.#now)) sleeper.wake();
      this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#now);
      await new Promise(setImmediate);
    }
  }
}

function clockOn(scale: number, workScale?: number) {
  const wall = new ManualWall();
  const clock = new ScaledClock(noon, scale, workScale, wall);
  const woken: string[] = [];
  const sleep = (name: string, ms: number) => {
    void clock.sleep(ms).then(() => woken.push(name));
  };
  return { wall, clock, woken, sleep };
}

describe('the scaled clock', () => {
  it('runs so many times as fast as real time', async () => {
    const { wall, clock } = clockOn(50);
    expect(clock.now()).toBe(noon);
    await wall.pass(20);
    expect(clock.now()).toBe(noon + 1_000);
    expect(clock.realMs(1_000)).toBe(20);
  });

  it('wakes sleepers when their time has come', async () => {
    const { wall, woken, sleep } = clockOn(50);
    sleep('long', 1_000);
    sleep('short', 500);
    await wall.pass(9);
    expect(woken).toEqual([]);
    await wall.pass(1);
    expect(woken).toEqual(['short']);
    await wall.pass(10);
    expect(woken).toEqual(['short', 'long']);
  });

  it('slows down while something is worked at, for sleepers too', async () => {
    const { wall, clock, woken, sleep } = clockOn(50, 1);
    sleep('sleeper', 1_000);
    await wall.pass(10);
    let finish = () => {};
    const work = clock.during(() => new Promise<void>((resolve) => (finish = resolve)));
    await wall.pass(100);
    expect(clock.now()).toBe(noon + 600);
    expect(woken).toEqual([]);
    finish();
    await work;
    await wall.pass(8);
    expect(clock.now()).toBe(noon + 1_000);
    expect(woken).toEqual(['sleeper']);
  });

  it('goes on slowly until the last of several works has ended, also when one fails', async () => {
    const { wall, clock } = clockOn(50, 1);
    let finish = () => {};
    const long = clock.during(() => new Promise<void>((resolve) => (finish = resolve)));
    const failing = clock.during(async () => {
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    await wall.pass(10);
    expect(clock.now()).toBe(noon + 10);
    finish();
    await long;
    await wall.pass(10);
    expect(clock.now()).toBe(noon + 510);
  });

  it('ends a sleep with the reason of its signal', async () => {
    const { clock } = clockOn(50);
    const stop = new AbortController();
    const sleeping = clock.sleep(1_000, stop.signal);
    stop.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    await expect(clock.sleep(1_000, stop.signal)).rejects.toThrow('enough');
  });
});
