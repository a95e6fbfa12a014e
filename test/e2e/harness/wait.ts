import { setTimeout as sleep } from 'node:timers/promises';

/** Kubernetes rounds times down to seconds: what is to be later must be so by more than one. */
export const wholeSecond = 1_100;

export interface WaitOptions {
  /** Milliseconds. */
  timeout: number;
  /** What is waited for, to be read after "timed out waiting for". */
  what: string;
  /** Milliseconds between two tries; 100 if not given. */
  interval?: number;
  /** Ends the wait at once by throwing, for what can never come any more. */
  abortIf?: () => void;
  /** More to say when the time is over, e.g. the state of what was waited for. */
  describe?: () => string | Promise<string>;
}

/**
 * Polls until `probe` gives something truthy, and gives that back. A probe that throws counts as
 * "not yet", since an API server that starts refuses connections; the last error is the cause of
 * the error when the time is over.
 */
export async function waitFor<T>(
  probe: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const deadline = Date.now() + options.timeout;
  let last: { value?: unknown; error?: unknown } = {};
  for (;;) {
    options.abortIf?.();
    try {
      const value = await probe();
      if (value) return value as Exclude<T, undefined | null | false | 0 | ''>;
      last = { value };
    } catch (error) {
      last = { error };
    }
    if (Date.now() >= deadline) break;
    await sleep(options.interval ?? 100);
  }
  const details = [
    `timed out after ${options.timeout / 1000} s waiting for ${options.what}`,
    last.error === undefined ? `last answer: ${String(last.value)}` : `last error: ${last.error}`,
    await options.describe?.(),
  ];
  throw new Error(details.filter((line) => line !== undefined).join('\n'), { cause: last.error });
}
