/** The dry run of condition taints, for people. */
import { isoTime } from '../clock.ts';
import type { TaintForecast } from '../prevention/condition-taints/forecast.ts';
import type { TaintVerdict } from '../prevention/condition-taints/model.ts';
import { conditionTaintKey } from '../prevention/condition-taints/taint.ts';
import { printable } from '../printable.ts';
import { type Cell, columns, widthOf } from './columns.ts';
import { fold } from './fold.ts';
import type { Style } from './style.ts';
import { plural } from './words.ts';

const actions: Record<TaintVerdict['kind'], string> = {
  add: 'add',
  remove: 'remove',
  keep: 'leave as it is',
  wait: 'wait',
  refused: 'refuse',
};

/** A row for each node and taint, the risks, and a summary. Ends in a line break. */
export function conditionTaintsText(
  verdicts: readonly TaintVerdict[],
  forecast: TaintForecast,
  { style, width, observes }: { style: Style; width?: number | undefined; observes: boolean },
): string {
  const blocks = [
    verdicts.length === 0 ? '' : table(verdicts, style, width),
    forecast.risks
      .flatMap(({ name, message }) => fold(printable(`risk in ${name}: ${message}`), width))
      .join('\n'),
    summary(forecast, observes)
      .flatMap((line) => fold(line, width))
      .join('\n'),
  ];
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

function table(verdicts: readonly TaintVerdict[], style: Style, width?: number): string {
  const heads: Cell[] = ['NODE', 'TAINT', 'ACTION', 'REASON', 'WHY'].map((text) => ({ text }));
  const cells = verdicts.map((verdict): Cell[] => [
    { text: verdict.node.metadata.name, paint: style.bold },
    { text: conditionTaintKey(verdict.name) },
    { text: actions[verdict.kind] },
    { text: verdict.code },
    {
      text: `${verdict.message}${verdict.kind === 'wait' ? `; until ${isoTime(verdict.until)}` : ''}`,
    },
  ]);
  const rows = [heads, ...cells];
  return width === undefined || widthOf(rows) <= width ? columns(rows) : folded(rows, width);
}

/** Reason and why under each row, where the terminal has no room for them beside it. */
function folded(rows: readonly Cell[][], width: number): string {
  const under = rows.map((row, index) =>
    index === 0
      ? []
      : fold(printable(`${row[3]?.text}: ${row[4]?.text}`), width - 4).map((line) => `    ${line}`),
  );
  return columns(rows.map((row) => row.slice(0, 3)))
    .split('\n')
    .flatMap((line, index) => [line, ...(under[index] ?? [])])
    .join('\n');
}

function summary(forecast: TaintForecast, observes: boolean): string[] {
  const { nodes, affected, add, remove, keep, wait, refused } = forecast;
  const codes = Object.entries(refused).sort(([a], [b]) => (a < b ? -1 : 1));
  const count = codes.reduce((sum, [, each]) => sum + each, 0);
  const why = codes.map(([code, each]) => `${code} ${each}`).join(', ');
  return [
    `${affected} of ${plural(nodes, 'node')} would change: ${plural(add, 'taint')} added, ${remove} removed`,
    `${wait} waiting, ${keep} left as ${keep === 1 ? 'it is' : 'they are'}, ${count} refused${count === 0 ? '' : ` (${why})`}`,
    observes
      ? 'Nothing was written. The cluster is in mode observe: nodegap writes nothing either.'
      : 'Nothing was written.',
  ];
}
