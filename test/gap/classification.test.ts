import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { gapOn } from './build.ts';
import { classification } from './classification-cases.ts';

describe('the classification table', () => {
  test.each(classification)('$title is $cause', ({ parts, judging, cause, others = [] }) => {
    expect(gapOn(parts, judging)).toMatchObject({ cause, otherCauses: others });
  });

  test.each([
    ['C', 30],
    ['P', 27],
  ])('has a test of every %s id up to %i', (letter, last) => {
    const folder = new URL('./', import.meta.url);
    const tests = readdirSync(folder)
      // The ids there are those of reported clusters.
      .filter((name) => name.endsWith('.ts') && name !== 'fixtures.test.ts')
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n');
    const ids = Array.from(
      { length: last },
      (_, i) => `${letter}${String(i + 1).padStart(2, '0')}`,
    );
    expect(ids.filter((id) => !new RegExp(`['"\`]${id}\\b`).test(tests))).toEqual([]);
  });
});

describe('several reasons of one node', () => {
  it('are all named', () => {
    const found = classification.find(({ title }) => title.startsWith('C12'));
    expect(found && gapOn(found.parts).message).toBe(
      'the scheduler cannot place the pod: Insufficient cpu, Insufficient memory',
    );
  });
});
