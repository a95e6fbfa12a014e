/** How the state in the cluster waits for others, and for an API server that is unwell. */
import { isKubernetesError, messageOf, NodegapError } from '../errors.ts';
import { backoffMs, type Pacing } from '../pacing.ts';

/** Each lost try means that somebody else got ahead, so it is no reason to give up soon. */
const MAX_TRIES = 500;
const MAX_FAILURES = 8;
const BACKOFF = { baseMs: 20, maxMs: 1_000 };
const FAILURE_BACKOFF = { baseMs: 200, maxMs: 5_000 };

export class Patience {
  readonly #pacing: Pacing;

  constructor(pacing: Pacing) {
    this.#pacing = pacing;
  }

  /**
   * Repeats `step`, which may be repeated at any time, until it answers.
   * @throws NodegapError `State.Unavailable`, with the last failure as cause.
   */
  async until<T>(doing: string, step: () => Promise<T | undefined>): Promise<T> {
    let failures = 0;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      try {
        const answer = await step();
        if (answer !== undefined) return answer;
        failures = 0;
        await this.pause(tries);
      } catch (error) {
        if (!isKubernetesError(error, 'unreachable', 'throttled', 'server')) throw error;
        failures += 1;
        if (failures >= MAX_FAILURES) throw unavailable(doing, messageOf(error), error);
        const asked = (error.retryAfterSeconds ?? 0) * 1000;
        const own = backoffMs(failures, this.#pacing.random, FAILURE_BACKOFF);
        await this.#pacing.sleep(Math.max(asked, own));
      }
    }
    throw unavailable(doing, 'others kept changing it');
  }

  /** Waits a little, longer with each try. */
  pause(tries: number): Promise<void> {
    return this.#pacing.sleep(backoffMs(Math.min(tries, 6), this.#pacing.random, BACKOFF));
  }
}

function unavailable(doing: string, why: string, cause?: unknown): NodegapError {
  return new NodegapError(
    'State.Unavailable',
    `${doing} of the state in the cluster failed: ${why}`,
    {
      hint: 'try again',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}
