/** How the executions of `remediate-node` are drawn. Pure. */
import { letterPaint } from './paints.ts';
import { type ExecutionView, mainLine, type Show, type Station, stations } from './show.ts';
import { type Line, type Paints, widthOf } from './spans.ts';
import { spanText, withShortNames } from './words.ts';

/** The executions, on a wide screen with their way through the machine. */
export function executionsBlock(
  show: Show,
  size: { columns: number; rows: number },
  paints: Paints,
  isWide: boolean,
): Line[] {
  const title: Line = [
    { text: 'Executions of remediate-node', paint: paints.bold },
    ...(show.executions.length === 0 ? [{ text: '  none yet', paint: paints.dim }] : []),
  ];
  // The running ones first; on a low screen the rest has to wait.
  const sorted = show.executions.toSorted(
    (a, b) => Number(a.ended !== undefined) - Number(b.ended !== undefined),
  );
  const shown = sorted.slice(0, size.rows < 30 ? 2 : 6);
  return [
    title,
    ...shown.flatMap((execution) =>
      executionLines(show, execution, isWide ? size.columns : 0, paints),
    ),
  ];
}

/** `columns` is 0 where an execution shows only the station that it is at, and not its way. */
function executionLines(
  show: Show,
  execution: ExecutionView,
  columns: number,
  paints: Paints,
): Line[] {
  const { letter, node, ended, station, since, code, message } = execution;
  const who: Line = [
    { text: letter, paint: letterPaint(letter, paints) },
    { text: `  ${node.padEnd(15)} `, paint: paints.bold },
  ];
  const where: Line =
    ended === undefined
      ? [
          { text: station, paint: (text) => paints.yellow(paints.bold(text)) },
          { text: ` for ${spanText(show.now - since)}`, paint: paints.dim },
        ]
      : [
          { text: ended.code, paint: ended.good ? paints.green : paints.red },
          { text: ` after ${spanText(ended.at - execution.startedAt)}`, paint: paints.dim },
        ];
  const isSaid = ended === undefined && code !== '';
  const said: Line = [
    ...(isSaid ? [{ text: `${code}: ` }] : []),
    { text: withShortNames(message), paint: paints.dim },
  ];
  if (columns === 0)
    return [
      [...who, ...where],
      [{ text: '   ' }, ...said],
    ];
  const indent = widthOf(who);
  return [
    [...who, ...railOf(execution, columns - indent, paints)],
    [{ text: ' '.repeat(indent) }, ...where, { text: '  ' }, ...said],
  ];
}

/** Passed by every execution in no time, so no part of its way once they are passed. */
const housekeeping: readonly Station[] = ['ReleaseSlot', 'Report'];

/**
 * The way through the machine: what is passed, where it is, what is still to come. Where `width` is
 * too small for all of it, first the farthest stations to come are left out, then the first passed.
 */
function railOf({ passed, station, ended }: ExecutionView, width: number, paints: Paints): Line {
  const isOver = ended !== undefined || passed.has('ReleaseNode');
  const here = ended === undefined ? station : undefined;
  const all = stations.filter((name) =>
    housekeeping.includes(name)
      ? name === here
      : passed.has(name) || (!isOver && mainLine.includes(name)),
  );
  let shown = all;
  const spans = (): Line => [
    ...(shown[0] === all[0] ? [] : [{ text: '…', paint: paints.dim }]),
    ...shown.map((name) => stationSpan(name, name === here, passed.has(name), paints)),
    ...(shown.at(-1) === all.at(-1) ? [] : [{ text: '…', paint: paints.dim }]),
  ];
  const rail = (): Line =>
    spans().flatMap((span, index) =>
      index === 0 ? [span] : [{ text: ' › ', paint: paints.dim }, span],
    );
  const isAhead = (name?: Station) => name !== undefined && !passed.has(name);
  while (widthOf(rail()) > width && isAhead(shown.at(-1))) shown = shown.slice(0, -1);
  while (widthOf(rail()) > width && shown.length > 1) shown = shown.slice(1);
  return rail();
}

function stationSpan(name: Station, isHere: boolean, isPassed: boolean, paints: Paints) {
  if (isHere) return { text: name, paint: (text: string) => paints.yellow(paints.bold(text)) };
  return { text: name, paint: isPassed ? paints.green : paints.dim };
}
