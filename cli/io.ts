/** Everything outside that a command touches, so that tests can own it. */
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { AccountClient, AccountClientOptions } from '../lib/aws/account-client.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { UsageError } from '../lib/errors.ts';
import type { KubeconfigConnection, KubeconfigOptions } from '../lib/kubernetes/kubeconfig.ts';
import type { NodeGroupReads } from '../lib/prevention/sources/node-groups.ts';
import { createStyle, type Style } from '../lib/report/style.ts';
import { realClock, type SleepingClock } from '../local/clock.ts';
import type { TaskHandler } from '../local/workflow/runner.ts';

/** SIGHUP: the terminal was closed. */
export type EndingSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Output {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface Io {
  stdout: Output;
  stderr: Output;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  readStdin(): Promise<string>;
  /** Where a person answers questions; absent where nobody can. */
  stdin?: Readable & { isTTY?: boolean };
  /** What Ctrl-C does; a prompt that reads keys gets it first. */
  interrupt?(): void;
  connect(options: KubeconfigOptions): Promise<KubeconfigConnection>;
  /**
   * Calls `listener` once, when the user ends the command (SIGINT, SIGTERM) or nobody reads its
   * output any more. The answer takes it back.
   */
  onInterrupt(listener: () => void): () => void;
  /**
   * Calls `listener` for each signal that is to end the command, which goes on until it ends itself.
   * The answer takes it back.
   */
  onSignal(listener: (signal: EndingSignal) => void): () => void;
  /** Ends the process at once, with what was written so far. */
  exitNow(code: number): void;
  /** The clock of commands that wait. */
  waiting: SleepingClock;
  /** Stands between the machine of `remediate` and its handlers: for tests. */
  wrapHandler?: (name: string, handler: TaskHandler) => TaskHandler;
  /** Asks EKS and EC2 of a region, under the credentials of the user. */
  nodeGroups(region: string): Promise<NodeGroupReads>;
  /** A function of the stack in an AWS account, and who calls it. */
  account(options: AccountClientOptions): Promise<Pick<AccountClient, 'ask' | 'identity'>>;
}

/** The terminal, environment and clock of this process. */
export function processIo(): Io {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    readStdin: () => text(process.stdin),
    get stdin() {
      return process.stdin;
    },
    interrupt: () => void process.kill(process.pid, 'SIGINT'),
    // Loaded when needed: a dump needs no Kubernetes client, which takes a while to load.
    async connect(options) {
      demandNode('talks to a cluster');
      const { connectFromKubeconfig } = await import('../lib/kubernetes/kubeconfig.ts');
      return connectFromKubeconfig(options);
    },
    onInterrupt: onProcessInterrupt,
    onSignal: onProcessSignal,
    exitNow: (code) => process.exit(code),
    waiting: realClock,
    async nodeGroups(region) {
      demandNode('talks to AWS');
      const { nodeGroupReadsOf } = await import('../lib/aws/node-group-access.ts');
      return nodeGroupReadsOf(region);
    },
    async account(options) {
      demandNode('talks to AWS');
      const { AccountClient } = await import('../lib/aws/account-client.ts');
      return new AccountClient(options);
    },
  };
}

/** A second signal finds no listener any more, and ends the process as usual. */
function onProcessInterrupt(listener: () => void): () => void {
  const takeBack = (): void => {
    process.off('SIGINT', once);
    process.off('SIGTERM', once);
    process.stdout.off('error', once);
  };
  const once = (): void => {
    takeBack();
    listener();
  };
  process.on('SIGINT', once);
  process.on('SIGTERM', once);
  process.stdout.on('error', once);
  return takeBack;
}

const endingSignals: readonly EndingSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Whoever is told has work to end first: a terminal that is gone must not end it by a failed write. */
function onProcessSignal(listener: (signal: EndingSignal) => void): () => void {
  const ignore = (): void => undefined;
  const outputs = [process.stdout, process.stderr];
  for (const signal of endingSignals) process.on(signal, listener);
  for (const output of outputs) output.on('error', ignore);
  return () => {
    for (const signal of endingSignals) process.off(signal, listener);
    for (const output of outputs) output.off('error', ignore);
  };
}

/** Colours on a terminal only, and never when NO_COLOR is set (https://no-color.org). */
export function styleFor(output: Output, env: Io['env']): Style {
  const wanted = output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  return createStyle(wanted);
}

/** The text of a file, or of standard input for `-`. @throws UsageError when it cannot be read. */
export async function readText(io: Io, file: string): Promise<string> {
  if (file === '-') return io.readStdin();
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'EACCES') return 'permission denied';
  return error instanceof Error ? error.message : String(error);
}

/** The oldest Node that the clients of Kubernetes and AWS run on (`engines` in package.json). */
const needed = { major: 22, minor: 19 };

/**
 * Dumps are read on older versions too, but the clients fail there with words that help nobody.
 * @throws UsageError on a Node that is too old.
 */
function demandNode(what: string): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return;
  throw new UsageError(
    `nodegap ${what} on Node ${needed.major}.${needed.minor} or newer, and this is ${process.versions.node}`,
    { hint: 'put a newer Node first on PATH; a dump can be read as it is, with --file' },
  );
}
