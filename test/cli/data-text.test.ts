import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { jsonText, yamlText } from '../../cli/data-text.ts';

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('a', ' ', ': ', '\n', '\t', '\u001b', '\u202e', '\u{e0041}', '#', '"'))
    .map((parts) => parts.join('')),
);
const values = fc.dictionary(
  texts.filter((key) => key !== '__proto__'),
  fc.oneof(texts, fc.array(texts), fc.integer()),
  { noNullPrototype: true },
);

const fromJson = (text: string) => JSON.parse(text);

it.each([
  ['JSON', (value: unknown) => jsonText(value), fromJson],
  ['JSON on a line', (value: unknown) => jsonText(value, true), fromJson],
  ['YAML', yamlText, (text: string) => parse(text)],
])('%s is read back as what it was, and shows each character', (_, write, read) => {
  fc.assert(
    fc.property(values, (value) => {
      const text = write(value);
      expect(read(text)).toEqual(value);
      expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    }),
    { numRuns: 300 },
  );
});

it('writes characters beyond the first plane as each format does', () => {
  expect(jsonText({ a: '\u{e0041}\u009b' }, true)).toBe('{"a":"\\udb40\\udc41\\u009b"}');
  expect(yamlText({ a: '\u{e0041}\u009b' })).toBe('a: "\\U000e0041\\u009b"\n');
});

it.each(['yes', 'on', 'y', '1:30', '0755', '2026-12-01'])(
  'writes %s so that readers of YAML 1.1, as kubectl is one, take it for text',
  (text) => {
    expect(parse(yamlText({ text }), { version: '1.1' })).toEqual({ text });
    expect(parse(yamlText({ text }))).toEqual({ text });
  },
);
