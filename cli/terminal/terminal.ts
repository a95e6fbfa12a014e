/** The terminal in which a person follows a remediation and answers its questions. */
import { type Readable, Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { printable } from '../../lib/printable.ts';
import { fold } from '../../lib/report/fold.ts';
import type { Paint, Style } from '../../lib/report/style.ts';
import { type Io, type Output, styleFor } from '../io.ts';

export interface Terminal {
  /** Where answers are typed; absent where there is no such place. */
  input?: (Readable & { isTTY?: boolean }) | undefined;
  output: Output;
  env: Io['env'];
  clock: Clock;
  /** What Ctrl-C does while nothing is asked. */
  interrupt(): void;
  /** Calls `listener` every second of real time, until that is taken back. */
  everySecond(listener: () => void): () => void;
}

/** A terminal to ask in, with streams that readline can work on. */
export interface Conversation extends Terminal {
  input: Readable;
  output: Writable & Output;
}

/** Standard error is for people; standard output for results. */
export function terminalOf(io: Io): Terminal {
  return {
    input: io.stdin,
    output: io.stderr,
    env: io.env,
    clock: io.waiting,
    interrupt: () => io.interrupt?.(),
    everySecond(listener) {
      const timer = setInterval(listener, 1000);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

/** Whether a line can be written over: a terminal that is one, and a stream behind it. */
export function isLively({ output, env }: Terminal): boolean {
  const isTerminal = output.isTTY === true && env.TERM !== 'dumb';
  return isTerminal && output instanceof Writable && 'cursorTo' in output;
}

/** Whether somebody is there to be asked. */
export function canAsk(terminal: Terminal): terminal is Conversation {
  return terminal.input?.isTTY === true && isLively(terminal);
}

/** What a person should know who starts an attempt where nobody can be asked. */
export const nobodyToAsk =
  'nobody can be asked here, since input or output is not a terminal: a question that comes up counts as answered with no; --yes agrees beforehand';

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
