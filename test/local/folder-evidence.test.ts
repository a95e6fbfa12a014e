import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderEvidence } from '../../local/folder-evidence.ts';
import { MemoryEvidence } from '../../local/memory-evidence.ts';
import { evidenceFixture } from '../evidence/fixture.ts';

let folder = '';
let id = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nodegap-evidence-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const store = () => new FolderEvidence(folder, () => `id-${++id}`);

describe('evidence in a folder', () => {
  it('is a file that only its owner can read', async () => {
    const evidence = evidenceFixture();
    const { location } = await store().save(evidence);
    expect(location).toBe(join(folder, 'prod/uid-1/e2-a3-before-drain.json'));
    expect(JSON.parse(readFileSync(location, 'utf8'))).toEqual(evidence);
    expect(statSync(location).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(location)).mode & 0o077).toBe(0);
    expect(readdirSync(dirname(location))).toHaveLength(1);
  });

  it('stays as it is when it is saved again, by whomever', async () => {
    const later = evidenceFixture({ at: '2026-11-29T13:00:00.000Z' });
    const saved = await Promise.all([
      store().save(evidenceFixture()),
      store().save(evidenceFixture()),
    ]);
    const { location } = await store().save(later);
    expect(new Set([...saved.map((each) => each.location), location]).size).toBe(1);
    expect(JSON.parse(readFileSync(location, 'utf8')).at).toBe(evidenceFixture().at);
    expect(readdirSync(dirname(location))).toHaveLength(1);
  });

  it('stays within the folder whatever a context is called', async () => {
    const cluster = '../../arn:aws:eks:eu-west-1:1:cluster/prod';
    const { location } = await store().save(evidenceFixture({ cluster, nodeUid: '..' }));
    expect(location.startsWith(`${folder}/`)).toBe(true);
    expect(location).not.toContain('/../');
  });

  it('that cannot be written is an error, and leaves nothing behind', async () => {
    writeFileSync(join(folder, 'prod'), 'a file in the way');
    await expect(store().save(evidenceFixture())).rejects.toThrow();
    expect(readdirSync(folder)).toEqual(['prod']);
  });
});

it('in memory keeps the first document of a key', async () => {
  const memory = new MemoryEvidence();
  await memory.save(evidenceFixture());
  await memory.save(evidenceFixture({ at: 'later' }));
  expect([...memory.documents.values()].map(({ at }) => at)).toEqual([evidenceFixture().at]);
});
