/** Lines of a screen: pieces of text with a paint each, cut and padded by what is seen of them. */
import { createColors } from 'picocolors';

export type Paint = (text: string) => string;

export interface Span {
  text: string;
  paint?: Paint;
}

export type Line = Span[];

/** The paints of a terminal, or plain text for all of them. */
export const createPaints = createColors;
export type Paints = ReturnType<typeof createColors>;

export function widthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + [...text].length, 0);
}

/** The line cut to `width` columns, with an ellipsis where something is left out. */
export function cut(line: Line, width: number): Line {
  if (widthOf(line) <= width) return line;
  const kept: Line = [];
  let left = width - 1;
  for (const span of line) {
    const characters = [...span.text];
    kept.push({ ...span, text: characters.slice(0, left).join('') });
    left -= characters.length;
    if (left <= 0) break;
  }
  return [...kept, { text: '…' }];
}

/** The line cut or filled up with blanks to exactly `width` columns. */
export function pad(line: Line, width: number): Line {
  const fitting = cut(line, width);
  const missing = width - widthOf(fitting);
  return missing > 0 ? [...fitting, { text: ' '.repeat(missing) }] : fitting;
}

/** Two lines in one, the second at the right edge. */
export function spread(left: Line, right: Line, width: number): Line {
  const room = width - widthOf(right) - 1;
  return room <= 0 ? cut(left, width) : [...pad(left, room), { text: ' ' }, ...right];
}

/** Blocks of lines side by side, each `width` columns wide with `gap` blanks between. */
export function beside(blocks: Line[][], width: number, gap: number): Line[] {
  const height = Math.max(0, ...blocks.map((block) => block.length));
  return Array.from({ length: height }, (_, row) =>
    blocks.flatMap((block, index) => [
      ...pad(block[row] ?? [], width),
      ...(index < blocks.length - 1 ? [{ text: ' '.repeat(gap) }] : []),
    ]),
  );
}

export function paintLine(line: Line): string {
  return line
    .map(({ text, paint }) => (paint === undefined || text === '' ? text : paint(text)))
    .join('')
    .trimEnd();
}
