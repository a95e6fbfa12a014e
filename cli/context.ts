import type { Io } from './io.ts';

export const exitCodes = { ok: 0, error: 1, found: 2 } as const;

/** What a command gets, and where it leaves its exit code. */
export interface CommandContext {
  io: Io;
  exitCode: number;
}
