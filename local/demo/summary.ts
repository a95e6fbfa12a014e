/** The summary at the end: per scenario what was expected, what happened, and what did not hold. */
import type { Scenario, Verdict } from './scenario.ts';
import type { Paint, Paints } from './spans.ts';
import { spanText } from './words.ts';

export interface SummaryPart {
  scenario: Pick<Scenario, 'letter' | 'name' | 'title'>;
  verdict: Verdict;
}

/** Whether every check of every scenario holds. */
export function allHold(parts: readonly SummaryPart[]): boolean {
  return parts.every(({ verdict }) => verdict.checks.every(({ ok }) => ok));
}

export interface SummaryOptions {
  /** How long it took on the virtual and on the wall clock. */
  virtualMs: number;
  realMs: number;
  /** Lines are wrapped to so many columns; as long as they are when absent. */
  columns?: number;
}

export function renderSummary(
  parts: readonly SummaryPart[],
  { virtualMs, realMs, columns = Number.POSITIVE_INFINITY }: SummaryOptions,
  paints: Paints,
): string[] {
  const failed = parts.filter(({ verdict }) => verdict.checks.some(({ ok }) => !ok));
  const time = `${spanText(virtualMs)} virtual minutes in ${Math.round(realMs / 1000)} s`;
  const letters = failed.map(({ scenario }) => scenario.letter).join(', ');
  const last =
    failed.length === 0
      ? paints.green(`All three scenarios ended as they should: ${time}.`)
      : paints.red(`Not as it should be: ${letters} (${time}).`);
  return [...parts.flatMap((part) => [...partLines(part, columns, paints), '']), paints.bold(last)];
}

const labelWidth = 10;
const indent = 3;

function partLines({ scenario, verdict }: SummaryPart, columns: number, paints: Paints): string[] {
  const { letter, name, title } = scenario;
  const { checks, expected, happened } = verdict;
  const failed = checks.filter(({ ok }) => !ok);
  const mark = failed.length === 0 ? paints.green('✔') : paints.red('✗');
  const room = columns - indent - labelWidth;
  const block = (label: string, texts: string[], paint: Paint = (text) => text): string[] =>
    texts
      .flatMap((text) => wrap(text, room))
      .map((line, index) => {
        const start = (index === 0 ? label : '').padEnd(labelWidth);
        return `${' '.repeat(indent)}${paints.dim(start)}${paint(line)}`;
      });
  return [
    `${mark}  ${paints.bold(`${letter}  ${name} · ${title}`)}`,
    ...block('expected', [expected]),
    ...block('happened', happened),
    ...block('checks', [`${checks.length - failed.length} of ${checks.length} hold`]),
    ...block(
      'failed',
      failed.map(({ what, found }) => `${what}; found: ${found}`),
      paints.red,
    ),
  ];
}

/** The words of `text` in lines of at most `width` columns; a longer word has a line of its own. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}
