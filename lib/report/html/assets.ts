/** The client program and the style sheet of the page. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Both are put into the page as they are. */
export interface Assets {
  script: string;
  style: string;
}

/** Beside this file in the built package; made by scripts/build.ts. */
export const builtAssets = { script: 'client.bundle.js', style: 'client.bundle.css' };

/** What the build made, or in a checkout what it would make of the sources. */
export async function loadAssets(): Promise<Assets> {
  if (import.meta.url.endsWith('.ts')) return bundleAssets();
  const [script, style] = await Promise.all([read(builtAssets.script), read(builtAssets.style)]);
  return { script, style };
}

function read(file: string): Promise<string> {
  return readFile(new URL(file, import.meta.url), 'utf8');
}

/** Bundles the sources with esbuild, which is there in a checkout only. */
export async function bundleAssets(): Promise<Assets> {
  const { build } = await import('esbuild');
  const source = (file: string) => fileURLToPath(new URL(`client/${file}`, import.meta.url));
  const result = await build({
    entryPoints: { script: source('main.ts'), style: source('style.css') },
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['chrome120', 'firefox120', 'safari17'],
    charset: 'utf8',
    write: false,
    outdir: 'out',
    logLevel: 'silent',
  });
  const textOf = (extension: string): string => {
    const file = result.outputFiles.find(({ path }) => path.endsWith(extension));
    return file?.text ?? '';
  };
  return { script: textOf('.js'), style: textOf('.css') };
}
