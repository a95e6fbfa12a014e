/** Draws the screen of a terminal as SVG. */
import type { IBufferCell, Terminal } from '@xterm/headless';

const cell = { width: 8.4, height: 19 };
const margin = 16;
const titleBar = 34;
const font =
  "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const background = '#0d1117';
const foreground = '#d7dde4';
/** The sixteen colours of a terminal on that background. */
const palette = [
  ...['#484f58', '#ff7b72', '#5fd38a', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#d7dde4'],
  ...['#6e7681', '#ffa198', '#8ce8ae', '#f2cc60', '#a5d6ff', '#e2c5ff', '#8be9ef', '#ffffff'],
];

/** A stretch of cells that look alike. */
interface Run {
  column: number;
  text: string;
  style: string;
  color: string;
  backdrop: string | undefined;
}

/** The rows from the top to the last one with text, in a frame like a window. */
export function drawScreen(terminal: Terminal, title: string): string {
  const rows = rowsOf(terminal);
  const width = Math.ceil(terminal.cols * cell.width + 2 * margin);
  const height = Math.ceil(rows.length * cell.height + titleBar + margin);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${font}" font-size="14" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, index) => `<circle cx="${20 + index * 20}" cy="18" r="6" fill="${fill}"/>`,
    ),
    ...rows.flatMap((runs, row) => runs.flatMap((run) => drawRun(run, row))),
    '</svg>',
    '',
  ].join('\n');
}

function rowsOf(terminal: Terminal): Run[][] {
  const { active } = terminal.buffer;
  const rows: Run[][] = [];
  for (let row = 0; row < active.length; row++) {
    const line = active.getLine(row);
    const runs: Run[] = [];
    for (let column = 0; column < terminal.cols; column++) {
      const found = line?.getCell(column);
      if (found === undefined || found.getWidth() === 0) continue;
      addCell(runs, column, found);
    }
    rows.push(runs.flatMap(withoutBlanks));
  }
  return rows.slice(0, rows.findLastIndex((runs) => runs.length > 0) + 1);
}

/** The run without the blanks around and wide blanks inside it, which viewers may collapse. */
function withoutBlanks(run: Run): Run[] {
  if (run.backdrop !== undefined) return [run];
  return [...run.text.matchAll(/\S+( \S+)*/g)].map(({ 0: text, index }) => ({
    ...run,
    column: run.column + [...run.text.slice(0, index)].length,
    text,
  }));
}

function addCell(runs: Run[], column: number, found: IBufferCell): void {
  const inverse = found.isInverse() !== 0;
  const color = inverse ? background : colorOf(found);
  const backdrop = inverse ? foreground : undefined;
  const style = `${found.isBold() ? ' font-weight="700"' : ''}${found.isDim() ? ' opacity="0.6"' : ''}`;
  const text = found.getChars() || ' ';
  const last = runs.at(-1);
  const isAlike =
    last !== undefined &&
    last.column + [...last.text].length === column &&
    last.color === color &&
    last.backdrop === backdrop &&
    last.style === style;
  if (isAlike) last.text += text;
  else runs.push({ column, text, style, color, backdrop });
}

function colorOf(found: IBufferCell): string {
  if (found.isFgRGB()) return `#${found.getFgColor().toString(16).padStart(6, '0')}`;
  if (found.isFgPalette()) return palette[found.getFgColor()] ?? foreground;
  return foreground;
}

function drawRun({ column, text, style, color, backdrop }: Run, row: number): string[] {
  const top = titleBar + row * cell.height;
  const characters = [...text];
  const width = (characters.length * cell.width).toFixed(1);
  const left = (margin + column * cell.width).toFixed(1);
  return [
    ...(backdrop === undefined
      ? []
      : [
          `<rect x="${left}" y="${top}" width="${width}" height="${cell.height}" fill="${backdrop}"/>`,
        ]),
    // textLength keeps the columns, whatever font is found.
    `<text x="${left}" y="${(top + cell.height * 0.72).toFixed(1)}" fill="${color}"${style} textLength="${width}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escaped(text)}</text>`,
  ];
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
