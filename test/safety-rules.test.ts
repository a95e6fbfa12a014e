import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../', import.meta.url);
const page = readFileSync(new URL('docs/safety.md', root), 'utf8');

/** The rules of the page by number, each with its text up to the next heading. */
const rules = new Map(
  [...page.matchAll(/^## Rule (\d+): .*\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)].map((match) => [
    Number(match[1]),
    match[2] ?? '',
  ]),
);

function filesIn(text: string): string[] {
  return [...text.matchAll(/`((?:cdk|functions|lib|local|test)\/[^`\s]+)`/g)].map(
    (match) => match[1] ?? '',
  );
}

describe('docs/safety.md', () => {
  it('has a section for each of the ten rules, in their order', () => {
    expect([...rules.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it.each([...rules])('says of rule %i how it is kept and which tests prove it', (_rule, text) => {
    expect(text).toMatch(/^- Kept by: /m);
    const proofs = /^- Proved by: (.*)$/m.exec(text)?.[1] ?? '';
    const tests = filesIn(proofs).filter((file) => file.startsWith('test/'));
    expect(tests.length).toBeGreaterThan(0);
  });

  it.each([...new Set(filesIn(page))])('names %s, which is there', (file) => {
    const found = file.includes('*')
      ? globSync(file, { cwd: root.pathname }).length > 0
      : existsSync(new URL(file, root));
    expect(found).toBe(true);
  });
});
