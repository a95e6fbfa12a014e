/**
 * `npm run build`: compiles what runs from an installed package (Node strips no types under
 * node_modules) and synthesizes the workflow. dist/ then holds cli, functions, lib, local and
 * workflow.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtAssets, bundleAssets } from '../lib/report/html/assets.ts';

const root = join(import.meta.dirname, '..');
const compiled = ['cli', 'functions', 'lib', 'local'];

// Only what is made anew: tests that run meanwhile read dist/workflow.
for (const folder of compiled) rmSync(join(root, 'dist', folder), { recursive: true, force: true });
compile();
await bundlePage();
makeProgramsExecutable();
await import('./build-workflow.ts');

function compile(): void {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { status, error } = spawnSync(tsc, ['--project', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (error !== undefined) throw error;
  // The compiler has said what is wrong.
  if (status !== 0) process.exit(1);
}

/** What runs in the browser, for `scan -o html`. */
async function bundlePage(): Promise<void> {
  const { script, style } = await bundleAssets();
  const folder = join(root, 'dist/lib/report/html');
  writeFileSync(join(folder, builtAssets.script), script);
  writeFileSync(join(folder, builtAssets.style), style);
}

/** npm does this for the programs that it links; a checkout has nobody else to do it. */
function makeProgramsExecutable(): void {
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  for (const program of new Set(Object.values(bin))) {
    const file = join(root, program);
    if (!readFileSync(file, 'utf8').startsWith('#!/usr/bin/env node\n')) {
      throw new Error(`${program} does not begin with "#!/usr/bin/env node"`);
    }
    chmodSync(file, 0o755);
  }
}
