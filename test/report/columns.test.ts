import { expect, it } from 'vitest';
import { columns } from '../../lib/report/columns.ts';

const rows = [
  [{ text: 'NAME' }, { text: 'WHY' }],
  [{ text: 'a-long-name', paint: (text: string) => `<${text}>` }, { text: 'some words on it' }],
];

it('aligns by the visible text, whatever its colour, without trailing spaces', () => {
  expect(columns(rows)).toBe('NAME         WHY\n<a-long-name>  some words on it');
});

it('cuts the last column at the width of the terminal', () => {
  expect(columns(rows, 25).split('\n')[1]).toBe('<a-long-name>  some words …');
});

it('keeps a readable rest of the last column on a narrow terminal', () => {
  expect(columns(rows, 5).split('\n')[1]).toBe('<a-long-name>  some words …');
});
