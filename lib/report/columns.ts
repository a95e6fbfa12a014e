import type { Paint } from './style.ts';

/** Text with the colour that it gets once it is in its place. */
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
export function columns(rows: readonly (readonly Cell[])[], width?: number): string {
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
      if (last) return paint(room === undefined ? text : cut(text, room));
      return paint(text) + ' '.repeat((widths[index] ?? 0) - text.length + gap);
    })
    .join('');
}

/** At most `room` characters, the last a `…` where something is left out. */
export function cut(text: string, room: number): string {
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}
