import { describe, expect, it } from 'vitest';
import { quoted } from '../../lib/report/shell.ts';

describe('quoted', () => {
  it.each([
    ['examples/dump.json', 'examples/dump.json'],
    ['arn:aws:eks:eu-west-1:1:cluster/prod', 'arn:aws:eks:eu-west-1:1:cluster/prod'],
    ['2026-11-29T14:00:00+02:00', '2026-11-29T14:00:00+02:00'],
    ['my ctx', "'my ctx'"],
    ["it's", "'it'\\''s'"],
    ['$HOME', "'$HOME'"],
    ['', "''"],
  ])('makes %s of it', (word, shown) => {
    expect(quoted(word)).toBe(shown);
  });
});
