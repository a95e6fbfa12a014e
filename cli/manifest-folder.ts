/** The files of a folder of manifests. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, UsageError } from '../lib/errors.ts';
import type { ManifestFile } from '../lib/prevention/sources/manifests.ts';

const isManifest = /\.(ya?ml|json)$/i;
/** A lock file or a bundle, no manifest that somebody wrote. */
const tooLarge = 10 * 1024 * 1024;

/**
 * All YAML and JSON files below `folder`, in the order of their names. Hidden folders, node_modules
 * and links are passed over.
 * @throws UsageError when the folder cannot be read, or holds no such file.
 */
export async function manifestFiles(folder: string): Promise<ManifestFile[]> {
  const paths = await pathsBelow(folder);
  if (paths.length === 0) {
    throw new UsageError(`${folder} holds no YAML or JSON file`, {
      hint: 'give the folder that holds your manifests',
    });
  }
  const files: ManifestFile[] = [];
  for (const file of paths) {
    try {
      if ((await stat(file)).size <= tooLarge) {
        files.push({ file, text: await readFile(file, 'utf8') });
      }
    } catch (cause) {
      throw new UsageError(`${file} cannot be read: ${messageOf(cause)}`, { cause });
    }
  }
  return files;
}

async function pathsBelow(folder: string): Promise<string[]> {
  const entries = await entriesOf(folder);
  const sorted = entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const paths: string[] = [];
  for (const entry of sorted) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    if (entry.isDirectory()) paths.push(...(await pathsBelow(path)));
    else if (entry.isFile() && isManifest.test(entry.name)) paths.push(path);
  }
  return paths;
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    const why =
      code === 'ENOENT'
        ? 'there is no such folder'
        : code === 'ENOTDIR'
          ? 'it is no folder'
          : messageOf(cause);
    throw new UsageError(`${folder} cannot be read: ${why}`, { cause });
  }
}
