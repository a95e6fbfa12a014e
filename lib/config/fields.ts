/** Kinds of values in nodegap.yaml, each with messages that say what to write instead. */
import * as z from 'zod';
import { durationPattern, formatDuration, parseDuration } from './duration.ts';

/** How a value is shown in a message: as the user would write it. */
export function shown(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return JSON.stringify(value) ?? String(value);
}

/** A message maker: `X is not WHAT; write for example EXAMPLE`. Missing values are left to others. */
function notA(what: string, example: string | number) {
  return ({ input }: { input?: unknown }): string | undefined => {
    if (input === undefined) return undefined;
    const wrong = input === null ? 'is empty' : `${shown(input)} is not ${what}`;
    return `${wrong}; write for example ${example}`;
  };
}

interface Range {
  /** Smallest value allowed, in seconds for durations. */
  min?: number;
  /** Durations must be a multiple of this many seconds. */
  step?: number;
}

/** A duration, written `10m`, as whole seconds. */
export function duration(fallback: string, description: string, range: Range = {}) {
  return plainDuration(fallback, range).prefault(fallback).describe(description);
}

/** The same without a default. */
export function plainDuration(example: string, { min = 0, step = 1 }: Range = {}) {
  const error = notA('a duration', example);
  return z
    .string({ error })
    .regex(durationPattern, { error, abort: true })
    .refine((text) => (parseDuration(text) ?? 0) >= min, {
      error: (issue) => `${shown(issue.input)} is too short; at least ${formatDuration(min)}`,
    })
    .refine((text) => (parseDuration(text) ?? 0) % step === 0, {
      error: (issue) => `${shown(issue.input)} is not a multiple of ${formatDuration(step)}`,
    })
    .transform((text) => parseDuration(text) ?? 0);
}

/** A whole number of at least 1. */
export function count(fallback: number, description: string) {
  return plainCount(fallback, description).default(fallback);
}

/** The same without a default. */
export function plainCount(example: number, description: string) {
  const error = notA('a whole number of at least 1', example);
  return z
    .int({ error })
    .min(1, { error })
    .max(10_000, { error: (issue) => `${shown(issue.input)} is too large; at most 10000` })
    .describe(description);
}

/** A whole number from 0 to 100. */
export function percent(fallback: number, description: string) {
  const error = notA('a whole number from 0 to 100', fallback);
  return z
    .int({ error })
    .min(0, { error })
    .max(100, { error })
    .default(fallback)
    .describe(description);
}

/** Text of a fixed form, with an example for the message. */
export function form(pattern: RegExp, what: string, example: string, description: string) {
  const error = notA(what, example);
  return z.string({ error }).regex(pattern, { error }).describe(description);
}

/** A list of such texts with at least one entry. */
export function idList(pattern: RegExp, what: string, example: string, description: string) {
  return z
    .array(form(pattern, what, example, `For example ${example}.`))
    .min(1)
    .describe(description);
}
