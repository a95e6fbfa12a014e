/**
 * Virtual time of the simulated cluster: a queue of things that will happen, carried out in time
 * order when the owner of the clock says how late it is. Nothing here waits in real time.
 *
 * How it works
 * - Things of one instant happen in the order in which they were planned.
 * - `work` changes the cluster towards a steady state; `routine` (heartbeats, retries, restarts of
 *   a crashing container) goes on for ever, so `settle` does not wait for it.
 * - Time never runs backwards: an `advanceTo` into the past does nothing.
 */
export type Nature = 'work' | 'routine';

interface Planned {
  at: number;
  sequence: number;
  nature: Nature;
  action: (() => void) | undefined;
}

/** Withdraws a planned action; harmless when it has happened already. */
export type Cancel = () => void;

const minute = 60_000;

export class Timeline {
  #now: number;
  #sequence = 0;
  #pendingWork = 0;
  #lastWork: number;
  /** Binary heap, earliest first. */
  readonly #heap: Planned[] = [];

  /** Starts at `startMs` (epoch milliseconds). */
  constructor(startMs: number) {
    this.#now = startMs;
    this.#lastWork = startMs;
  }

  /** Epoch milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** Plans `action` for `epochMs`, or for now when that has passed. */
  at(epochMs: number, action: () => void, nature: Nature = 'work'): Cancel {
    const planned: Planned = {
      at: Math.max(epochMs, this.#now),
      sequence: this.#sequence++,
      nature,
      action,
    };
    this.#push(planned);
    if (nature === 'work') this.#pendingWork++;
    return () => {
      if (planned.action === undefined) return;
      planned.action = undefined;
      if (nature === 'work') this.#pendingWork--;
    };
  }

  /** Plans `action` for `delayMs` from now. */
  after(delayMs: number, action: () => void, nature: Nature = 'work'): Cancel {
    return this.at(this.#now + delayMs, action, nature);
  }

  /** When the next thing happens, if anything is planned. */
  nextAt(): number | undefined {
    while (this.#heap.length > 0 && this.#heap[0]?.action === undefined) this.#pop();
    return this.#heap[0]?.at;
  }

  /** Lets everything happen that is due by `epochMs`. */
  advanceTo(epochMs: number): void {
    for (let next = this.nextAt(); next !== undefined && next <= epochMs; next = this.nextAt()) {
      this.#step();
    }
    this.#now = Math.max(this.#now, epochMs);
  }

  /**
   * Runs until only routine is planned and no work has come of it for `quietMs`. Returns the time
   * reached. Throws when that takes longer than `limitMs`, since then something never settles.
   */
  settle({ quietMs = minute, limitMs = 240 * minute } = {}): number {
    const start = this.#now;
    this.#lastWork = start;
    for (let next = this.nextAt(); next !== undefined; next = this.nextAt()) {
      if (this.#pendingWork === 0 && next > this.#lastWork + quietMs) break;
      if (next > start + limitMs) {
        throw new Error(`the cluster did not settle within ${limitMs / minute} virtual minutes`);
      }
      this.#step();
    }
    return this.#now;
  }

  /** Counts what happens right now as work after all, so that `settle` waits for what it leads to. */
  noteWork(): void {
    this.#lastWork = this.#now;
  }

  #step(): void {
    const planned = this.#pop();
    const action = planned?.action;
    if (planned === undefined || action === undefined) return;
    planned.action = undefined;
    this.#now = planned.at;
    if (planned.nature === 'work') {
      this.#pendingWork--;
      this.#lastWork = planned.at;
    }
    action();
  }

  #push(planned: Planned): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(planned);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !earlier(planned, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = planned;
  }

  #pop(): Planned | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && earlier(right, left) ? 2 : 1;
      const smaller = child === 2 ? right : left;
      if (smaller === undefined || !earlier(smaller, last)) break;
      heap[index] = smaller;
      index = 2 * index + child;
    }
    heap[index] = last;
    return first;
  }
}

function earlier(a: Planned, b: Planned): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}
