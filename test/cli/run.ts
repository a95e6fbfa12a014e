/** Runs the command line inside the test, with everything outside it made up. */
import { join } from 'node:path';
import type { Io } from '../../cli/io.ts';
import { main } from '../../cli/main.ts';
import { JumpClock } from '../../local/clock.ts';

export const noon = '2026-11-29T12:00:00Z';

/** Path of the dump of a fixture. */
export function dumpOf(fixture: string): string {
  return join(import.meta.dirname, '../gap/fixtures', fixture, 'cluster.json');
}

/** Answers no request: what is read by it is not there. */
export const nothingThere = {
  request: async () => ({ status: 404, headers: {}, body: Buffer.from('{}') }),
  close: () => undefined,
};

export interface Run {
  code: number;
  out: string;
  err: string;
}

export interface RunOptions {
  stdin?: string;
  env?: Record<string, string>;
  /** A terminal of this width. */
  columns?: number;
  connect?: Io['connect'];
  account?: Io['account'];
  nodeGroups?: Io['nodeGroups'];
  /** Gets what ends the command, as Ctrl-C does. */
  onInterrupt?: Io['onInterrupt'];
  /** The present, ISO 8601. */
  at?: string;
  /** In place of `at`, for a present that moves. */
  clock?: Io['clock'];
  /** Of commands that wait; jumps ahead otherwise. */
  waiting?: Io['waiting'];
  /** Gets everything as it is written, on stdout and stderr. */
  onWrite?: (text: string) => void;
  programName?: string;
}

/** Runs `nodegap ARGV`. The present is the `now` of the fixtures unless said otherwise. */
export async function nodegap(argv: string[], options: RunOptions = {}): Promise<Run> {
  const written = { out: '', err: '' };
  const write = (to: 'out' | 'err') => (text: string) => {
    written[to] += text;
    options.onWrite?.(text);
  };
  const terminal = options.columns === undefined ? {} : { isTTY: true, columns: options.columns };
  const io: Io = {
    stdout: { ...terminal, write: write('out') },
    stderr: { ...terminal, write: write('err') },
    env: options.env ?? {},
    clock: options.clock ?? { now: () => Date.parse(options.at ?? noon) },
    readStdin: async () => options.stdin ?? '',
    connect:
      options.connect ??
      (() => {
        throw new Error('this test connects to no cluster');
      }),
    onInterrupt: options.onInterrupt ?? (() => () => undefined),
    onSignal: () => () => undefined,
    exitNow: (code) => {
      throw new Error(`this test does not end its process (${code})`);
    },
    waiting: options.waiting ?? new JumpClock(Date.parse(options.at ?? noon)),
    nodeGroups:
      options.nodeGroups ??
      (() => {
        throw new Error('this test asks no AWS account');
      }),
    account:
      options.account ??
      (() => {
        throw new Error('this test asks no AWS account');
      }),
  };
  const code = await main(argv, io, options.programName);
  return { code, ...written };
}
