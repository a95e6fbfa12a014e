import { cutTo, printable } from '../printable.ts';
import type { Paint } from './style.ts';

/** Text, from a cluster or not, with the colour that it gets once it is in its place. */
export interface Cell {
  text: string;
  paint?: Paint;
}

const gap = 2;
/** The last column is never cut to less than this. */
const leastLast = 12;

/**
 * Rows under headings, as kubectl prints them: aligned, two spaces apart, without lines around.
 * With a `width` the last column is cut so that each row stays one line of that many characters.
 */
export function columns(cells: readonly (readonly Cell[])[], width?: number): string {
  const rows = cells.map((row) => row.map(printableCell));
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.text.length);
    });
  }
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap, 0);
  const room = width === undefined ? undefined : Math.max(leastLast, width - before);
  return rows.map((row) => line(row, widths, room)).join('\n');
}

/** Characters of the longest row. */
export function widthOf(rows: readonly (readonly Cell[])[]): number {
  const plain = rows.map((row) => row.map(({ text }) => ({ text })));
  return Math.max(
    0,
    ...columns(plain)
      .split('\n')
      .map(({ length }) => length),
  );
}

function line(row: readonly Cell[], widths: number[], room: number | undefined): string {
  return row
    .map(({ text, paint = (plain) => plain }, index) => {
      const last = index === row.length - 1;
      if (last) return paint(room === undefined ? text : cutTo(text, room));
      return paint(text) + ' '.repeat((widths[index] ?? 0) - text.length + gap);
    })
    .join('');
}

function printableCell(cell: Cell): Cell {
  return { ...cell, text: printable(cell.text) };
}
