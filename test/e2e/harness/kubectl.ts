import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { programPath } from './tools.ts';

/** kubectl ended with something else than 0. */
export class KubectlError extends Error {
  override name = 'KubectlError';
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(args: readonly string[], exitCode: number | null, stderr: string) {
    super(`kubectl ${args.join(' ')} ended with ${exitCode}: ${stderr.trim()}`);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** Runs kubectl with a kubeconfig, and gives its standard output. */
export async function runKubectl(
  kubeconfig: string,
  args: readonly string[],
  stdin = '',
): Promise<string> {
  const child = spawn(programPath('kubectl'), ['--kubeconfig', kubeconfig, ...args]);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.end(stdin);
  const [exitCode, stdout, stderr] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
  ]);
  if (exitCode !== 0) throw new KubectlError(args, exitCode, stderr);
  return stdout;
}
