import type { Guarded } from './guard.ts';

/** A node that was well or unclear at the decisive moment more often than this is left isolated. */
const patience = 3;

/**
 * The fault is not to be seen at the moment of an act: back into hold-down, where health must last
 * for hold-up before it counts. A node that keeps doing that is a case for a person.
 */
export function turnBack(
  guarded: Extract<Guarded, { kind: 'healthy' | 'wait' }>,
  turnedBack: number,
): { next: 'not-now' | 'stay-isolated'; code: string; message: string; turnedBack: number } {
  const { code, message } = guarded;
  return turnedBack < patience
    ? { next: 'not-now', code, message, turnedBack: turnedBack + 1 }
    : {
        next: 'stay-isolated',
        code: 'flapping',
        message: `its fault came and went ${turnedBack + 1} times right before the next step; now: ${message}`,
        turnedBack,
      };
}

/**
 * The evidence could not be saved: back into hold-down, and tried again after it. A node of which
 * nothing can be kept for that long stays isolated.
 */
export function turnBackUnsaved(
  { code, message }: { code: string; message: string },
  turnedBack: number,
): ReturnType<typeof turnBack> {
  return turnedBack < patience
    ? { next: 'not-now', code, message, turnedBack: turnedBack + 1 }
    : { next: 'stay-isolated', code, message, turnedBack };
}
