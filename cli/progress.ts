import ora from 'ora';
import { printable } from '../lib/printable.ts';
import type { Io } from './io.ts';

/** Milliseconds of silence before a spinner appears: most clusters answer sooner. */
const patience = 500;

/** Runs `work`, with a spinner on a terminal's stderr when it takes a while. */
export async function withProgress<T>(io: Io, text: string, work: () => Promise<T>): Promise<T> {
  const { stderr } = io;
  if (stderr !== process.stderr || stderr.isTTY !== true) return work();
  const spinner = ora({ text: printable(text), stream: process.stderr });
  const timer = setTimeout(() => spinner.start(), patience);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    spinner.stop();
  }
}
