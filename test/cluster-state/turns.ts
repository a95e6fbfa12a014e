/**
 * Processes that share a cluster, one request at a time in an order that a seed decides, each of
 * which may die or lose requests and answers at any point.
 */
import type { Transport } from '../../lib/kubernetes/transport.ts';
import { unreachableBecause } from '../../lib/kubernetes/unreachable.ts';
import { seededRandom } from '../safety/contention.ts';

export type Fate =
  /** The process dies before the request leaves it. */
  | 'dies-before'
  /** It dies after the request was carried out. */
  | 'dies-after'
  /** It dies, and the request is carried out some time later. */
  | 'dies-late'
  /** The request gets lost, and the process learns that it failed. */
  | 'lost'
  /** It is carried out, and the process learns that it failed. */
  | 'answer-lost'
  /** The process learns that it failed, and some time later it is carried out. */
  | 'late';
export const fates: Fate[] = [
  'dies-before',
  'dies-after',
  'dies-late',
  'lost',
  'answer-lost',
  'late',
];

export class Turns {
  readonly random: () => number;
  readonly #waiting: { after: number; go: () => void }[] = [];
  #steps = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** How many turns were given so far. */
  get now(): number {
    return this.#steps;
  }

  /** Waits for a turn; not before that many others. */
  turn(others = 0): Promise<void> {
    return new Promise((go) => this.#waiting.push({ after: this.#steps + others, go }));
  }

  /** Gives turns until nobody wants one any more. */
  async run(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#waiting.length === 0) return;
      this.#steps += 1;
      const due = this.#waiting.filter(({ after }) => after <= this.#steps);
      const chosen = due[Math.floor(this.random() * due.length)];
      if (chosen === undefined) continue;
      this.#waiting.splice(this.#waiting.indexOf(chosen), 1);
      chosen.go();
    }
  }

  get pacing() {
    return { random: this.random, sleep: () => this.turn() };
  }

  /** What becomes of the requests of one process, by their number. Writes may be late; reads not. */
  transport(inner: Transport, plan: ReadonlyMap<number, Fate>): Transport {
    let count = 0;
    const never = new Promise<never>(() => undefined);
    return {
      server: inner.server,
      stats: inner.stats,
      close: () => undefined,
      request: async (request) => {
        const fate = plan.get(count);
        count += 1;
        await this.turn();
        const later = async () => {
          await this.turn(Math.floor(this.random() * 120));
          await inner.request(request);
        };
        switch (fate) {
          case undefined:
            return inner.request(request);
          case 'dies-before':
            return never;
          case 'dies-after':
            await inner.request(request);
            return never;
          case 'dies-late':
            void later();
            return never;
          case 'lost':
            break;
          case 'answer-lost':
            await inner.request(request);
            break;
          case 'late':
            void later();
        }
        throw unreachableBecause('timeout', inner.server, 'no answer');
      },
    };
  }
}
