/** Runs one process and tells what it used. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientReport } from './client-report.ts';

export interface Ended {
  stdout: string;
  stderr: string;
  code: number | null;
  wallMs: number;
}

export interface NodeRun extends Ended {
  report: ClientReport;
}

/** The module that has a process report on itself. */
export const preload = join(import.meta.dirname, 'preload.js');

/** Runs a script with Node, in a process of its own that nothing has warmed up. */
export async function runNode(script: string, args: readonly string[]): Promise<NodeRun> {
  const folder = mkdtempSync(join(tmpdir(), 'nodegap-bench-run-'));
  const file = join(folder, 'report.json');
  try {
    const ended = await run(process.execPath, ['--import', preload, script, ...args], {
      NODEGAP_BENCH_REPORT: file,
    });
    return { ...ended, report: JSON.parse(readFileSync(file, 'utf8')) as ClientReport };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The largest peak memory, in bytes, of the processes of a shell that does one thing at a time. */
export interface ShellRun extends Ended {
  peakRss: number;
}

/** Runs a bash script, and watches the programs that it starts. */
export async function runShell(script: string, env: Record<string, string>): Promise<ShellRun> {
  let peakRss = 0;
  const ended = await run('bash', ['-euo', 'pipefail', '-c', script], env, async (pid, signal) => {
    while (!signal.aborted) {
      for (const child of descendants(pid)) peakRss = Math.max(peakRss, peakOf(child));
      await sleep(50);
    }
  });
  return { ...ended, peakRss };
}

async function run(
  path: string,
  args: readonly string[],
  env: Record<string, string>,
  beside?: (pid: number, signal: AbortSignal) => Promise<void>,
): Promise<Ended> {
  const started = performance.now();
  const child = spawn(path, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const over = new AbortController();
  const ended = new Promise<{ code: number | null; wallMs: number }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      over.abort();
      resolve({ code, wallMs: performance.now() - started });
    });
  });
  const watching = child.pid === undefined ? undefined : beside?.(child.pid, over.signal);
  const [{ code, wallMs }, stdout, stderr] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
    watching,
  ]);
  return { stdout, stderr, code, wallMs };
}

function descendants(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function peakOf(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1];
  return Number(kibibytes ?? 0) * 1024;
}

/** Of a process that ended a moment ago there is nothing to read. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
