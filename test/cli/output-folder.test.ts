import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeFolder } from '../../cli/output-folder.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodegap-output-'));
});
afterEach(() => rm(folder, { recursive: true }));

const files = new Map([
  ['README.txt', 'read me\n'],
  ['attachers/a.yaml', 'a: 1\n'],
]);
const read = (file: string) => readFile(join(folder, file), 'utf8');

it('writes files into folders that it makes', async () => {
  await writeFolder(join(folder, 'new'), files, { force: false });
  expect(await read('new/README.txt')).toBe('read me\n');
  expect(await read('new/attachers/a.yaml')).toBe('a: 1\n');
});

it('writes the same again', async () => {
  await writeFolder(folder, files, { force: false });
  await writeFolder(folder, files, { force: false });
  expect(await read('attachers/a.yaml')).toBe('a: 1\n');
});

it('writes nothing when a file is there with another text', async () => {
  await writeFile(join(folder, 'README.txt'), 'mine\n');
  await expect(writeFolder(folder, files, { force: false })).rejects.toThrow(
    `${folder} already has README.txt, with another text`,
  );
  expect(await read('README.txt')).toBe('mine\n');
  await expect(read('attachers/a.yaml')).rejects.toThrow('ENOENT');
});

it('overwrites by force', async () => {
  await writeFile(join(folder, 'README.txt'), 'mine\n');
  await writeFolder(folder, files, { force: true });
  expect(await read('README.txt')).toBe('read me\n');
});

it('says what cannot be written', async () => {
  await writeFile(join(folder, 'attachers'), 'a file\n');
  await expect(writeFolder(folder, files, { force: true })).rejects.toThrow(
    `${folder} cannot be written: `,
  );
});
