import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface NodegapPackage {
  folder: string;
  version: string;
}

/**
 * The package that this file is part of, whether it runs as source, compiled in dist/, or bundled
 * into a program there.
 */
export function nodegapPackage(): NodegapPackage {
  let folder = import.meta.dirname;
  for (;;) {
    const version = versionIn(join(folder, 'package.json'));
    if (version !== undefined) return { folder, version };
    const parent = dirname(folder);
    if (parent === folder) throw new Error('package.json of nodegap is not there');
    folder = parent;
  }
}

function versionIn(file: string): string | undefined {
  try {
    const parsed = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
    return parsed.name === 'nodegap' ? (parsed.version ?? '') : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
