/** The process of nodegap, seen from the bench: what it said, and what it used. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Line } from './nodegap.ts';

export type Scan = Extract<Line, { kind: 'scan' }>;
export type Ended = Extract<Line, { kind: 'ended' }>;

export class NodegapProcess {
  readonly lines: Line[] = [];
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  /** `told` gets every line as it comes. */
  constructor(args: [kubeconfig: string, config: string, log: string], told: (line: Line) => void) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'nodegap.ts'), ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (child.pid === undefined) throw new Error('nodegap did not start');
    this.#child = child;
    this.pid = child.pid;
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Line;
      this.lines.push(line);
      told(line);
    });
  }

  get scans(): Scan[] {
    return this.lines.filter((line) => line.kind === 'scan');
  }

  get ended(): Ended[] {
    return this.lines.filter((line) => line.kind === 'ended');
  }

  /** Throws when it has ended by itself. */
  assertRunning(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return;
    throw new Error(`nodegap has ended by itself (${exitCode ?? signalCode})`);
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 30_000);
    await this.#ended;
    clearTimeout(late);
  }
}
