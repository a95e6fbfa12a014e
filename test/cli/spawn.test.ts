import { execFile } from 'node:child_process';
import { mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dumpOf, noon } from './run.ts';

const script = join(import.meta.dirname, '../../cli/nodegap.ts');

function run(file: string, args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], (error, out, err) => {
      resolve({ code: error?.code ?? 0, out, err });
    });
  });
}

it('runs as a command of its own, with its exit code', async () => {
  const { code, out, err } = await run(script, ['scan', '--file', dumpOf('C34'), '--now', noon]);
  expect(out).toContain('n7    kube-system/secrets-agent  image-pull');
  expect(err).toBe('');
  expect(code).toBe(2);
});

it('calls itself kubectl nodegap when installed as kubectl plugin', async () => {
  const plugin = join(await mkdtemp(join(tmpdir(), 'nodegap-plugin-')), 'kubectl-nodegap');
  await symlink(script, plugin);
  const { out, code } = await run(plugin, ['--help']);
  expect(out).toContain('Usage: kubectl nodegap [options] [command]');
  expect(code).toBe(0);
});
