/**
 * One frame of the live screen. Pure: the same show and size give the same text.
 *
 * How it works: the head, the node maps, the executions and the legend take what they need; the
 * timeline gets the rows that are left, the newest line last.
 */

import { isoTime } from '../../lib/clock.ts';
import { executionsBlock } from './execution-view.ts';
import { letterPaint, lookPaint, tonePaint } from './paints.ts';
import type { ClusterView, Look, Show } from './show.ts';
import { beside, cut, type Line, type Paints, paintLine, spread } from './spans.ts';
import type { TimelineEntry } from './timeline.ts';
import { count, spanText } from './words.ts';

export interface ScreenSize {
  columns: number;
  rows: number;
}

/** From here on the clusters stand side by side and an execution shows its whole way. */
const wideFrom = 118;
const glyphs: Record<Look, string> = {
  healthy: '●',
  gap: '✗',
  cordoned: '◐',
  tainted: '◑',
  draining: '▼',
  leaving: '◌',
  gone: '·',
  joining: '○',
  new: '◆',
};
/** What the legend explains, in 80 columns. */
const explained: Look[] = [
  'healthy',
  'gap',
  'cordoned',
  'tainted',
  'draining',
  'leaving',
  'joining',
  'new',
];

/** The frame as at most `rows` lines of at most `columns` columns. */
export function renderShow(show: Show, size: ScreenSize, paints: Paints): string[] {
  const top = [head(show, size.columns, paints), [], ...state(show, size, paints), []];
  const bottom = [[], legendLine(paints)];
  const room = Math.max(0, size.rows - top.length - bottom.length);
  const told = show.timeline.slice(show.timeline.length - Math.min(room, show.timeline.length));
  const timeline = told.map((entry) => timelineLine(show, entry, paints));
  // Filled up, so that the legend stays where it is.
  const blank = Array.from({ length: room - timeline.length }, (): Line => []);
  const lines = [...top, ...timeline, ...blank, ...bottom].slice(0, size.rows);
  return lines.map((line) => paintLine(cut(line, size.columns)));
}

/** What stays on the screen when it is over: the whole timeline, then how everything stands. */
export function renderEnd(show: Show, size: ScreenSize, paints: Paints): string[] {
  const timeline = show.timeline.map((entry) => timelineLine(show, entry, paints));
  const rest = [...state(show, size, paints), [], legendLine(paints), []];
  return [
    ...[head(show, size.columns, paints), [], ...timeline, []].map(paintLine),
    ...rest.map((line) => paintLine(cut(line, size.columns))),
  ];
}

/** Node maps and executions. */
function state(show: Show, size: ScreenSize, paints: Paints): Line[] {
  const isWide = size.columns >= wideFrom;
  return [
    ...(isWide ? mapsBeside(show, size, paints) : mapsBelow(show, paints)),
    [],
    ...executionsBlock(show, size, paints, isWide),
  ];
}

function head(show: Show, columns: number, paints: Paints): Line {
  return spread(
    [
      { text: ' nodegap demo ', paint: (text) => paints.inverse(paints.bold(text)) },
      { text: '  the real handlers over simulated clusters', paint: paints.dim },
    ],
    [
      { text: isoTime(show.now).slice(11, 16), paint: paints.dim },
      { text: `  +${spanText(show.now - show.startedAt)}`, paint: paints.bold },
      { text: ' ' },
    ],
    columns,
  );
}

// ── node maps ──────────────────────────────────────────────────────────────────────────────────

function mapsBeside(show: Show, { columns }: ScreenSize, paints: Paints): Line[] {
  const gap = 2;
  const width = Math.floor((columns - gap * (show.clusters.length - 1)) / show.clusters.length);
  const blocks = show.clusters.map((cluster) => [
    clusterTitle(cluster, paints),
    ...cluster.pools.map((pool) => poolLine(pool, ' ', paints)),
    [{ text: numbersOf(cluster), paint: paints.dim }],
  ]);
  // The numbers of all clusters stand in one row.
  const height = Math.max(...blocks.map((block) => block.length));
  const even = blocks.map((block) => [
    ...block.slice(0, -1),
    ...Array.from({ length: height - block.length }, (): Line => []),
    ...block.slice(-1),
  ]);
  return beside(even, width, gap);
}

function mapsBelow(show: Show, paints: Paints): Line[] {
  return show.clusters.flatMap((cluster) => [
    [...clusterTitle(cluster, paints), { text: `  ${numbersOf(cluster)}`, paint: paints.dim }],
    cluster.pools.flatMap((pool) => [...poolLine(pool, '', paints, 0), { text: '  ' }]),
  ]);
}

function clusterTitle({ letter, name, title }: ClusterView, paints: Paints): Line {
  return [
    { text: letter, paint: (text) => letterPaint(letter, paints)(paints.bold(text)) },
    { text: `  ${name}`, paint: paints.bold },
    { text: ` · ${title}` },
  ];
}

function poolLine(
  pool: { name: string; nodes: Look[] },
  between: string,
  paints: Paints,
  nameWidth = 9,
): Line {
  return [
    { text: `${pool.name} `.padEnd(nameWidth + 1), paint: paints.dim },
    ...pool.nodes.map((look) => ({
      text: `${glyphs[look]}${between}`,
      paint: lookPaint(look, paints),
    })),
  ];
}

function numbersOf({ gaps, writes, notices }: ClusterView): string {
  return `${count(gaps, 'gap')} · ${count(writes, 'write')} · ${count(notices, 'notice')}`;
}

// ── timeline and legend ────────────────────────────────────────────────────────────────────────

/** `+07:02  A  words`, in the paint of its tone. */
export function timelineLine(
  { startedAt }: Pick<Show, 'startedAt'>,
  { at, letter, text, tone }: TimelineEntry,
  paints: Paints,
): Line {
  const paint = tonePaint(tone, paints);
  return [
    { text: `+${spanText(at - startedAt)} `, paint: paints.dim },
    { text: ` ${letter}  `, paint: letterPaint(letter, paints) },
    { text, ...(paint === undefined ? {} : { paint }) },
  ];
}

function legendLine(paints: Paints): Line {
  return explained.flatMap((look) => [
    { text: glyphs[look], paint: lookPaint(look, paints) },
    { text: ` ${look} `, paint: paints.dim },
  ]);
}
