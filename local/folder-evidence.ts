import { chmod, link, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Evidence, SavedEvidence } from '../lib/evidence/document.ts';
import { evidenceKey } from '../lib/evidence/key.ts';
import type { EvidenceStore } from '../lib/ports.ts';

/** Evidence in a folder, which only its owner may read: for `nodegap remediate`. */
export class FolderEvidence implements EvidenceStore {
  readonly #folder: string;
  readonly #newId: () => string;

  constructor(folder: string, newId: () => string) {
    this.#folder = resolve(folder);
    this.#newId = newId;
  }

  /** The file appears at once and as a whole, and one that is there stays as it is. */
  async save(evidence: Evidence): Promise<SavedEvidence> {
    const file = join(this.#folder, evidenceKey(evidence));
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${this.#newId()}`;
    try {
      await writeFile(draft, `${JSON.stringify(evidence, null, 2)}\n`, {
        flag: 'wx',
        mode: 0o600,
        flush: true,
      });
      // Whatever the umask is.
      await chmod(draft, 0o600);
      await linkOnce(draft, file);
    } finally {
      await rm(draft, { force: true });
    }
    return { location: file };
  }
}

/** A link is made only where nothing is: of two writers, the first one's document stays. */
async function linkOnce(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
