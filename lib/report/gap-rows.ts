/**
 * The rows of the gaps for a terminal of a given width. What has no room beside the names goes on
 * indented lines under its row, folded between words and never cut: first the action (and
 * in wide output message and reason), then cause and blame too.
 */
import { cutTo, printable } from '../printable.ts';
import { type Cell, columns, widthOf } from './columns.ts';
import { fold } from './fold.ts';
import type { Paint, Style } from './style.ts';

export interface GapRow {
  node: Cell;
  daemonSet: Cell;
  cause: Cell;
  blame: Cell;
  since: Cell;
  action: Cell;
  /** Only in wide output. */
  wide?: { pool: Cell; zone: Cell; pod: Cell; message: Cell; reason: Cell };
}

const indent = '    ';

/** The table with its heading; on one line a row when `width` is undefined. */
export function gapRows(rows: readonly GapRow[], style: Style, width: number | undefined): string {
  const whole = headed(rows, style, (row) => [...namesOf(row), row.action, ...wideOf(row)]);
  if (width === undefined || widthOf(whole) <= width) return columns(whole);
  const short = headed(rows, style, (row) => [...namesOf(row), ...placeOf(row)]);
  if (widthOf(short) <= width) return stacked(short, rows, width, (row) => [row.action]);
  const least = headed(rows, style, ({ node, daemonSet, since }) => [node, daemonSet, since]);
  return stacked(least, rows, width, ({ cause, blame, action, wide }) => [
    { ...cause, text: `${cause.text}, blame: ${blame.text}` },
    action,
    ...(wide === undefined ? [] : [{ text: `pod: ${wide.pod.text}` }]),
  ]);
}

const titles: Required<GapRow> = {
  node: { text: 'NODE' },
  daemonSet: { text: 'DAEMONSET' },
  cause: { text: 'CAUSE' },
  blame: { text: 'BLAME' },
  since: { text: 'SINCE' },
  action: { text: 'ACTION' },
  wide: {
    pool: { text: 'POOL' },
    zone: { text: 'ZONE' },
    pod: { text: 'POD' },
    message: { text: 'MESSAGE' },
    reason: { text: 'REASON' },
  },
};

function headed(rows: readonly GapRow[], style: Style, cellsOf: (row: GapRow) => Cell[]): Cell[][] {
  const { wide, ...narrow } = titles;
  const head = cellsOf(rows[0]?.wide === undefined ? narrow : { ...narrow, wide });
  return [head.map(({ text }) => ({ text, paint: style.dim })), ...rows.map(cellsOf)];
}

function namesOf({ node, daemonSet, cause, blame, since }: GapRow): Cell[] {
  return [node, daemonSet, cause, blame, since];
}

function placeOf({ wide }: GapRow): Cell[] {
  return wide === undefined ? [] : [wide.pool, wide.zone, wide.pod];
}

function wideOf(row: GapRow): Cell[] {
  if (row.wide === undefined) return [];
  const { message, reason } = row.wide;
  return [...placeOf(row), { ...message, text: cutTo(message.text, widestMessage) }, reason];
}

/** Longer ones would push the column after them out of sight; on lines of their own they stay whole. */
const widestMessage = 200;

const plain: Paint = (text) => text;

function stacked(
  cells: readonly Cell[][],
  rows: readonly GapRow[],
  width: number,
  belowOf: (row: GapRow) => Cell[],
): string {
  const [head = '', ...lines] = columns(cells).split('\n');
  const blocks = rows.flatMap((row, index) => {
    const more = row.wide === undefined ? [] : [row.wide.message, row.wide.reason];
    const below = [...belowOf(row), ...more].flatMap(({ text, paint = plain }) =>
      fold(printable(text), width - indent.length).map((line) => indent + paint(line)),
    );
    return [lines[index] ?? '', ...below];
  });
  return [head, ...blocks].join('\n');
}
