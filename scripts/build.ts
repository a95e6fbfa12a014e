/**
 * `npm run build`: compiles what runs from an installed package (Node strips no types under
 * node_modules) and synthesizes the workflow. dist/ then holds cli, functions, lib, local and
 * workflow.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { builtAssets, bundleAssets } from '../lib/report/html/assets.ts';

const root = join(import.meta.dirname, '..');
const made = ['cli', 'functions', 'lib', 'local'];

// Only what is made anew: tests that run meanwhile read dist/workflow.
for (const folder of made) rmSync(join(root, 'dist', folder), { recursive: true, force: true });
compile();
await bundleProgram();
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

/**
 * The command in a few files: the many hundred of its packages take three times as long to load and
 * 60 MiB more.
 */
async function bundleProgram(): Promise<void> {
  await build({
    entryPoints: [join(root, 'cli/nodegap.ts')],
    outdir: join(root, 'dist/cli'),
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    // Some packages are CommonJS and require what Node has.
    banner: {
      js: "import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(import.meta.url);",
    },
    plugins: [withoutSideEffects('@kubernetes/client-node')],
    logLevel: 'warning',
  });
}

/** Leaves out the modules of a package that nothing is imported from: the package does not say it. */
function withoutSideEffects(name: string): Plugin {
  return {
    name: 'without-side-effects',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /.*/ }, async ({ path, pluginData, ...asked }) => {
        if (pluginData === name || !`${path} ${asked.importer}`.includes(name)) return undefined;
        const { importer, kind, resolveDir } = asked;
        const found = await resolve(path, { importer, kind, resolveDir, pluginData: name });
        return found.path.includes(name) ? { ...found, sideEffects: false } : found;
      });
    },
  };
}

/** What runs in the browser, for `scan -o html`: beside whatever loads it. */
async function bundlePage(): Promise<void> {
  const { script, style } = await bundleAssets();
  for (const folder of ['dist/cli', 'dist/lib/report/html']) {
    writeFileSync(join(root, folder, builtAssets.script), script);
    writeFileSync(join(root, folder, builtAssets.style), style);
  }
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
