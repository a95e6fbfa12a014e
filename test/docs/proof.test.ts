import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = `${import.meta.dirname}/../..`;

test('docs/proof.md lists every end-to-end suite, and no other', () => {
  const suites = globSync('**/*.e2e.test.ts', { cwd: `${root}/test/e2e` });
  const text = readFileSync(`${root}/docs/proof.md`, 'utf8');
  const listed = [...text.matchAll(/^\| `([\w/-]+)` \|/gm)].map(([, name]) => name);
  expect(listed.sort()).toEqual(suites.map((file) => file.replace('.e2e.test.ts', '')).sort());
});
