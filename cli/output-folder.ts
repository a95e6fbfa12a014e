/** Writes the files of a command into a folder, and overwrites nothing that it is not told to. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, UsageError } from '../lib/errors.ts';

/**
 * Writes `files` (by path inside the folder). A file that holds the same text already is left as it
 * is. Without `force` nothing is written when another text is there.
 * @throws UsageError when something is in the way or the folder cannot be written.
 */
export async function writeFolder(
  folder: string,
  files: ReadonlyMap<string, string>,
  { force }: { force: boolean },
): Promise<void> {
  try {
    const changed: [string, string][] = [];
    const inTheWay: string[] = [];
    for (const [file, text] of files) {
      const before = await textOf(join(folder, file));
      if (before === text) continue;
      changed.push([file, text]);
      if (before !== undefined) inTheWay.push(file);
    }
    if (inTheWay.length > 0 && !force) {
      throw new UsageError(`${folder} already has ${inTheWay.join(', ')}, with another text`, {
        hint: 'give another folder by --out, or --force to overwrite',
      });
    }
    for (const [file, text] of changed) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`${folder} cannot be written: ${messageOf(cause)}`, { cause });
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
