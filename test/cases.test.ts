import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** The cases of groups C (isolation), D (wait, dedupe, breaker), E (drain), F (replace) and H (command line). */
const cases = [
  // Of groups A, B and G, those that startup and condition taints touch.
  ...['C20', 'C44', 'C46', 'C98'],
  ...['C47', 'C49', 'C51', 'C52', 'C53'],
  ...['C57', 'C61', 'C63', 'C64', 'C66', 'C69'],
  ...['C71', 'C72', 'C74', 'C77', 'C78', 'C80', 'C84', 'C85'],
  ...['C87', 'C89', 'C91', 'C94'],
  // C117 in part: there is no switch of a cause alone yet.
  ...['C112', 'C113', 'C114', 'C116', 'C117', 'C119'],
];

/** Quoted text at the beginning of a test, a group of tests or a row of a table of tests. */
const titles = globSync('test/**/*.test.ts', { cwd: new URL('../', import.meta.url).pathname })
  .filter((file) => !file.endsWith('cases.test.ts'))
  .flatMap((file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    return [...text.matchAll(/(?:it|test|describe)(?:\.each[\s\S]*?\))?\(\s*(['"`])(.*?)\1/g)];
  })
  .map((match) => match[2] ?? '');

describe('the case', () => {
  it.each(cases)('%s has a test that is named by its id', (id) => {
    expect(titles.filter((title) => new RegExp(`\\b${id}\\b`).test(title))).not.toEqual([]);
  });
});
