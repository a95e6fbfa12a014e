import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Command {
  /** Names the log file, too. */
  name: string;
  path: string;
  args: string[];
  env?: Record<string, string>;
}

/**
 * Reads process ids until its standard input ends. That happens when the process which started it
 * ends in whatever way, SIGKILL included; then it kills what was left running and removes the
 * folder. The word `done` tells it that everything was stopped in order.
 */
const GUARDIAN = `
pids=''
while read -r word; do
  [ "$word" = done ] && exit 0
  pids="$pids $word"
done
[ -n "$pids" ] && kill -9 $pids
[ -n "$1" ] && rm -rf "$1"
`;

/** A number of child processes that start and end together, each with a log file. */
export class ProcessGroup {
  readonly #children = new Map<string, ChildProcess>();
  readonly #logs: string;
  readonly #guardian: ChildProcess;

  /** `scratch` is removed when this process dies without `stop()`. */
  constructor(logs: string, scratch?: string) {
    this.#logs = logs;
    // Detached: Ctrl-C in a terminal goes to the whole foreground group, and must reach only us.
    this.#guardian = spawn('/bin/sh', ['-c', GUARDIAN, 'guardian', scratch ?? ''], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#guardian.unref();
    const input = this.#guardian.stdin;
    if (input !== null && 'unref' in input && typeof input.unref === 'function') input.unref();
  }

  /** Starts a program; its output goes to `NAME.log`. */
  start(command: Command): void {
    const log = openSync(this.logFile(command.name), 'a');
    const child = spawn(command.path, command.args, {
      env: { ...process.env, ...command.env },
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    // A failed start shows as an exit; without a listener it would end this process.
    child.on('error', () => undefined);
    child.unref();
    this.#children.set(command.name, child);
    if (child.pid !== undefined) this.#guardian.stdin?.write(`${child.pid}\n`);
  }

  /** Throws when that program is not running (any more). */
  assertRunning(name: string): void {
    const child = this.#children.get(name);
    if (child !== undefined && isRunning(child)) return;
    const state = child?.exitCode ?? child?.signalCode ?? 'not started';
    throw new Error(`${name} ended (${state})`);
  }

  /** The process id of a program that was started. */
  pid(name: string): number {
    const pid = this.#children.get(name)?.pid;
    if (pid === undefined) throw new Error(`${name} was not started`);
    return pid;
  }

  /** Sends a signal to one program, e.g. SIGSTOP and SIGCONT to freeze and thaw it. */
  signal(name: string, signal: NodeJS.Signals): void {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`no program is named ${name}`);
    child.kill(signal);
  }

  /** Ends one program without warning, and waits until it is gone. */
  async kill(name: string): Promise<void> {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`no program is named ${name}`);
    child.kill('SIGKILL');
    while (isRunning(child)) await sleep(20);
  }

  /** Ends all programs: SIGTERM first, SIGKILL for those that are still there a while later. */
  async stop(patienceMs: number): Promise<void> {
    const running = () => [...this.#children.values()].filter(isRunning);
    for (const child of running()) {
      child.kill('SIGTERM');
      // A frozen process takes no other signal than SIGKILL until it is thawed.
      child.kill('SIGCONT');
    }
    const deadline = Date.now() + patienceMs;
    while (running().length > 0 && Date.now() < deadline) await sleep(20);
    for (const child of running()) child.kill('SIGKILL');
    while (running().length > 0) await sleep(20);
    this.#guardian.stdin?.end('done\n');
  }

  /** The last lines of one program's log. */
  logTail(name: string, lines: number): string {
    const file = this.logFile(name);
    const text = existsSync(file) ? readFileSync(file, 'utf8').trimEnd() : '';
    const tail = text.split('\n').slice(-lines);
    // Structured logs with stack traces have lines of some kilobytes.
    return [`--- ${name} ---`, ...tail.map((line) => line.slice(0, 300))].join('\n');
  }

  /** The last lines of every program's log. */
  logTails(lines: number): string {
    return [...this.#children.keys()].map((name) => this.logTail(name, lines)).join('\n');
  }

  logFile(name: string): string {
    return join(this.#logs, `${name}.log`);
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
