import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startupTaintsCommand } from '../../cli/commands/startup-taints.ts';
import { processIo } from '../../cli/io.ts';
import type { PreventionFacts } from '../../lib/prevention/facts.ts';
import { clusterFacts, config } from '../prevention/generate/facts.ts';
import { found, writtenDaemonSet } from '../prevention/prevention-facts.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodegap-startup-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The command on facts by hand. @throws what the command throws. */
async function run(argv: string[], facts: PreventionFacts = clusterFacts(), mode = config('act')) {
  const written = { out: '', err: '' };
  const io = {
    ...processIo(),
    env: {},
    stdout: { write: (text: string) => (written.out += text) },
    stderr: { write: (text: string) => (written.err += text) },
  };
  const command = startupTaintsCommand(
    { io, exitCode: 0 },
    {
      addOptions: (each) => each,
      read: async () => ({ facts, config: mode }),
    },
  );
  await command
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parseAsync(argv, {
      from: 'user',
    });
  return written;
}

describe('startup-taints', () => {
  it('prints patches', async () => {
    const { out, err } = await run([]);
    expect(out).toContain('kind: NodePool');
    expect(out).toContain('- key: nodegap.dev/startup-fluent-bit\n          effect: NoSchedule');
    expect(err).toBe('');
  });

  it('warns on stderr that nobody takes the taints off in a cluster in observe', async () => {
    const { err } = await run([], clusterFacts(), config('observe'));
    expect(err).toMatch(/^warning: cluster prod-a is in mode observe: nodegap would not take/);
  });

  it('gives the effect that is asked for', async () => {
    const { out } = await run(['--effect', 'NoExecute']);
    expect(out).toContain('nodegap.dev/startup-fluent-bit\n          effect: NoExecute');
  });

  it('writes Kustomize components, and overwrites nothing but by force', async () => {
    const to = join(folder, 'out');
    const kustomize = ['-o', 'kustomize', '--out', to];
    expect((await run(kustomize)).out).toBe(
      `7 files in ${to}; ${to}/README.txt says in which order to use them\n`,
    );
    expect((await readdir(to)).sort()).toEqual(['README.txt', 'attachers', 'tolerations']);
    const readme = join(to, 'README.txt');
    await writeFile(readme, 'mine');
    await expect(run(kustomize)).rejects.toThrow(`${to} already has README.txt`);
    await run([...kustomize, '--force']);
    expect(await readFile(readme, 'utf8')).toContain('Roll out in this order');
  });

  it('writes no folder when there is nothing to change', async () => {
    const nothing = clusterFacts({ daemonSets: [] });
    const { out } = await run(['-o', 'kustomize', '--out', join(folder, 'out')], nothing);
    expect(out).toBe('nothing to change, and nothing was written\n');
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    [['-o', 'kustomize'], '-o kustomize writes files, and no folder is given'],
    [['--out', 'x'], '--out is for -o kustomize: YAML is printed'],
    [['--force'], '--force is for the folder of --out'],
    [['--effect', 'Never'], "argument 'Never' is invalid"],
  ])('refuses %j', async (argv, message) => {
    await expect(run(argv)).rejects.toThrow(message);
  });

  it('refuses two DaemonSets that would share a taint by chance', async () => {
    const twins = ['a', 'b'].map((namespace) =>
      found(writtenDaemonSet({ name: 'proxy', namespace })),
    );
    await expect(run([], clusterFacts({ daemonSets: twins }))).rejects.toThrow(
      'a/proxy and b/proxy would share the taint nodegap.dev/startup-proxy',
    );
  });
});
