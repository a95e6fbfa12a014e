import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ScanReport } from '../../../lib/report/scan-report.ts';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** The kubeconfig of the child; without one it finds none. */
  kubeconfig?: string;
  stdin?: string;
}

/** Runs the command `nodegap` as a user does, in a process of its own and not on a terminal. */
export async function nodegap(args: string[], options: RunOptions = {}): Promise<Finished> {
  const program = join(import.meta.dirname, '../../../cli/nodegap.ts');
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, HOME: '/nonexistent', KUBECONFIG: options.kubeconfig },
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.end(options.stdin ?? '');
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** The report of a scan that printed JSON; its standard error when it printed none. */
export function reportOf({ stdout, stderr, code }: Finished): ScanReport {
  if (stdout === '') throw new Error(`nodegap ended with ${code} and printed nothing: ${stderr}`);
  return JSON.parse(stdout) as ScanReport;
}
