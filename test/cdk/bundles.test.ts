import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type BuildResult, build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundling } from '../../cdk/constructs/nodegap-function.ts';

const root = join(import.meta.dirname, '../..');
const names = readdirSync(join(root, 'functions'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => basename(file, '.ts'));
const folder = mkdtempSync(join(tmpdir(), 'nodegap-bundles-'));
let built: BuildResult<{ metafile: true }>;

/** The packages that end up in the bundle of a function. */
function packagesOf(name: string): string[] {
  const [, output] =
    Object.entries(built.metafile.outputs).find(([file]) => file.endsWith(`/${name}.mjs`)) ?? [];
  return Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([file]) => /node_modules\/((@[^/]+\/)?[^/]+)/.exec(file)?.[1])
    .filter((each) => each !== undefined);
}

beforeAll(async () => {
  built = await build({
    absWorkingDir: root,
    entryPoints: names.map((name) => `functions/${name}.ts`),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minify: bundling.minify,
    mainFields: bundling.mainFields,
    banner: { js: bundling.banner },
    metafile: true,
    logLevel: 'silent',
  });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the bundle of', () => {
  it('every function loads as an ES module and has a handler', () => {
    // In a file of its own: in other ways of running code `require` is there by itself.
    const loader = join(folder, 'load.mjs');
    const imports = names.map((name) => `'${name}': (await import('./${name}.mjs')).handler`);
    writeFileSync(
      loader,
      `const handlers = {${imports.join(',')}};
for (const [name, handler] of Object.entries(handlers)) console.log(name, typeof handler);
`,
    );
    const lines = execFileSync(process.execPath, [loader], { encoding: 'utf8' });
    expect(lines.trim().split('\n')).toEqual(names.map((name) => `${name} function`));
  });

  it('the scan holds neither client-node nor undici, so that it starts fast', () => {
    const packages = packagesOf('scan-cluster');
    expect(packages).toContain('@aws-sdk/client-dynamodb');
    expect(packages).not.toContain('@kubernetes/client-node');
    expect(packages).not.toContain('undici');
  });
});
