import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Version of the package that this file is part of, whether it runs as source or from dist/. */
export function packageVersion(): string {
  let folder = import.meta.dirname;
  for (;;) {
    const found = nodegapPackage(join(folder, 'package.json'));
    if (found !== undefined) return found.version;
    const parent = dirname(folder);
    if (parent === folder) throw new Error('package.json of nodegap is not there');
    folder = parent;
  }
}

function nodegapPackage(file: string): { version: string } | undefined {
  try {
    const parsed = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
    return parsed.name === 'nodegap' ? { version: parsed.version ?? '' } : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
