/** The terminal in which a person follows a remediation and answers its questions. */
import type { Readable, Writable } from 'node:stream';
import { UsageError } from '../../lib/errors.ts';
import { printable } from '../../lib/printable.ts';
import { fold } from '../../lib/report/fold.ts';
import type { Paint, Style } from '../../lib/report/style.ts';
import type { SleepingClock } from '../../local/clock.ts';
import { type Io, styleFor } from '../io.ts';

export interface Terminal {
  input: Readable & { isTTY?: boolean };
  output: Writable & { isTTY?: boolean; columns?: number };
  env: Io['env'];
  clock: Pick<SleepingClock, 'now' | 'sleep'>;
  /** What Ctrl-C does while nothing is asked. */
  interrupt(): void;
}

/** Standard input and standard error of this process: standard output is for results. */
export function processTerminal(env: Io['env'], clock: Terminal['clock']): Terminal {
  return {
    input: process.stdin,
    output: process.stderr,
    env,
    clock,
    interrupt: () => void process.kill(process.pid, 'SIGINT'),
  };
}

/** Whether somebody is there to be asked: both ends are a terminal that can be written to freely. */
export function canAsk({ input, output, env }: Terminal): boolean {
  return input.isTTY === true && output.isTTY === true && env.TERM !== 'dumb';
}

/** Why nothing is asked without a terminal. */
export function nobodyToAsk(): UsageError {
  return new UsageError('nobody can be asked here: input or output is not a terminal', {
    hint: 'run it in a terminal, or agree beforehand with --yes',
  });
}

/** Columns for text; undefined where lines may be of any length. */
export function widthOf({ output }: Terminal): number | undefined {
  return output.isTTY === true ? Math.max(40, output.columns ?? 80) : undefined;
}

export function styleOf({ output, env }: Terminal): Style {
  return styleFor(output, env);
}

/** `label  text` with the text folded under itself; both from anywhere. */
export function labelled(
  label: string,
  text: string,
  options: { labelWidth: number; width: number | undefined; paint?: Paint },
): string[] {
  const { labelWidth, width, paint = (plain) => plain } = options;
  const room = width === undefined ? undefined : Math.max(24, width - labelWidth - 1);
  return fold(printable(text), room).map((line, index) => {
    return `${paint((index === 0 ? label : '').padEnd(labelWidth))} ${line}`;
  });
}
