/**
 * One call of a function, as Lambda would make it: it has a deadline, it may die in the middle, and
 * it may go on when nobody waits for it any more. Everything that a function asks of the world
 * passes `boundary`, which is where it can be slow or die.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { longestFunctionTimeoutSeconds } from '../../lib/aws/function-timeouts.ts';
import { NodegapError } from '../../lib/errors.ts';
import type { DiscreteClock } from '../workflow/clock.ts';

export interface Invocation {
  /** Name of the function. */
  name: string;
  /** ARN of the execution that calls it, where one does. */
  execution: string | undefined;
  nodeUid: string | undefined;
  startedAt: number;
  /** Paths whose last read failed in this call. */
  failedReads: Set<string>;
  calls: number;
  /** Dies at this call of the world; 0 is never. */
  diesAt: number;
  isOver: boolean;
  die: (error: Error) => void;
}

const current = new AsyncLocalStorage<Invocation>();

/** The call that the running code belongs to. */
export function invocation(): Invocation | undefined {
  return current.getStore();
}

/** Runs something that belongs to no call: an execution begins that goes on by itself. */
export function outside<T>(begin: () => T): T {
  return current.exit(begin);
}

/** Longer than any schedule. */
const forever = 1e12;

/** Calls `work` as a function. Rejects with Lambda's error when it dies or takes too long. */
export async function call<T>(
  clock: DiscreteClock,
  about: Pick<Invocation, 'name' | 'execution' | 'nodeUid' | 'diesAt'>,
  work: () => Promise<T>,
): Promise<T> {
  const death = Promise.withResolvers<never>();
  death.promise.catch(() => undefined);
  const own: Invocation = {
    ...about,
    startedAt: clock.now(),
    failedReads: new Set(),
    calls: 0,
    isOver: false,
    die: (error) => {
      own.isOver = true;
      death.reject(error);
    },
  };
  return Promise.race([current.run(own, () => clock.during(work)), death.promise]);
}

/** Where a function meets the world. Never returns once its call is over. */
export async function boundary(clock: DiscreteClock, slowMs = 0): Promise<void> {
  const own = invocation();
  if (own === undefined) return;
  own.calls += 1;
  if (own.calls === own.diesAt) {
    own.die(new NodegapError('Runtime.ExitError', 'the process is gone'));
  }
  if (!own.isOver && slowMs > 0) {
    const left = own.startedAt + longestFunctionTimeoutSeconds * 1000 - clock.now();
    await clock.sleep(Math.min(slowMs, Math.max(0, left)));
  }
  // Also when time has jumped, which is what a frozen sandbox sees.
  if (!own.isOver && clock.now() - own.startedAt >= longestFunctionTimeoutSeconds * 1000) {
    own.die(new NodegapError('Sandbox.Timedout', 'Task timed out'));
  }
  if (own.isOver) await clock.sleep(forever);
}
