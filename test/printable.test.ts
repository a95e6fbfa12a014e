import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shorten } from '../lib/gap/words.ts';
import { cutTo, printable, printableLines } from '../lib/printable.ts';

describe('printable', () => {
  it.each([
    [
      'colours and titles of a terminal',
      '\u001b[31mred\u001b]0;t\u0007',
      '\\u001b[31mred\\u001b]0;t\\u0007',
    ],
    ['the one-byte forms of escapes', '\u009b31m \u009d', '\\u009b31m \\u009d'],
    ['NUL, backspace and delete', 'a\0b\bc\x7f', 'a\\u0000b\\u0008c\\u007f'],
    ['line breaks and tabs', 'a\nb\r\tc\u2028d\u0085', 'a\\nb\\r\\tc\\u2028d\\u0085'],
    ['turned directions', 'a\u202egnp\u2066', 'a\\u202egnp\\u2066'],
    ['what cannot be seen', 'a\u200bb\u00adc\ufeff\u3164', 'a\\u200bb\\u00adc\\ufeff\\u3164'],
    ['invisible letters beyond the first plane', 'a\u{e0041}', 'a\\u{e0041}'],
    ['half a character', 'a\ud83d', 'a\\ud83d'],
  ])('writes out %s', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it('leaves what can be seen as it is', () => {
    const text = 'höher, שלום, 日本, 😀 → “…” \\u001b';
    expect(printable(text)).toBe(text);
  });

  it('leaves line breaks where the lines are our own', () => {
    expect(printableLines('a\u001b\nb\r')).toBe('a\\u001b\nb\\r');
  });

  it('is the same twice as once', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(printable(text))).toBe(printable(text));
      }),
    );
  });
});

describe('cutTo', () => {
  it('cuts no character in two', () => {
    expect(cutTo('ab😀cd', 4)).toBe('ab…');
    expect(cutTo('ab😀cd', 5)).toBe('ab😀…');
    expect(shorten(`${'a'.repeat(1022)}😀 and more`)).toBe(`${'a'.repeat(1022)}…`);
  });

  it('is never longer than asked for, nor half a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 20 }),
        (text, length) => {
          const cut = cutTo(text, length);
          expect(cut.length).toBeLessThanOrEqual(length);
          expect(cut.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});
