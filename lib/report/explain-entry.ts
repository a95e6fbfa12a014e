/** The lines of an explanation: a label, and text folded under itself. */
import type { Config, Mode } from '../config/model.ts';
import type { Evidence } from '../gap/model.ts';
import { printable } from '../printable.ts';
import type { DrainPlan } from '../remediation/drain-plan.ts';
import { fold } from './fold.ts';
import type { Paint, Style } from './style.ts';

export interface ExplainOptions {
  style: Style;
  /** Epoch ms. */
  now: number;
  config: Config;
  mode: Mode;
  /** For the kubectl commands; the current context when absent. */
  context: string | undefined;
  /** What a drain of the node would do with its pods, or why that is not known. */
  drain: DrainPlan | { unread: string };
  /** Text is folded at this many characters; not at all when absent. */
  width: number | undefined;
}

const labelWidth = 15;

const unpainted: Paint = (text) => text;

/** `label  text`, folded under itself. */
export function entry(
  label: string,
  text: string,
  options: ExplainOptions,
  paint = unpainted,
): string[] {
  return labelled(label, folded(text, options).map(paint), options);
}

/** Several texts under one label. */
export function entries(
  label: string,
  texts: readonly string[],
  options: ExplainOptions,
  paint = unpainted,
): string[] {
  return texts.flatMap((text, index) => entry(index === 0 ? label : '', text, options, paint));
}

/**
 * What a verdict rests on: each object once, under it its fields with what would change the verdict.
 */
export function evidenceEntries(
  label: string,
  evidence: readonly Evidence[],
  options: ExplainOptions,
): string[] {
  const lines = evidence.flatMap(({ object, field, value, wouldChange }, index) => [
    ...(evidence[index - 1]?.object === object ? [] : [printable(object)]),
    ...folded(`${field} = ${value}`, options, 2),
    ...(wouldChange === undefined
      ? []
      : folded(`changes when ${wouldChange}`, options, 4).map(options.style.dim)),
  ]);
  return labelled(label, lines, options);
}

function folded(text: string, { width }: ExplainOptions, indent = 0): string[] {
  const room = width === undefined ? undefined : Math.max(30, width - labelWidth - 3) - indent;
  return fold(printable(text), room).map((line) => ' '.repeat(indent) + line);
}

function labelled(label: string, lines: readonly string[], { style }: ExplainOptions): string[] {
  return lines.map((line, index) => {
    const shown = (index === 0 ? label : '').padEnd(labelWidth);
    return `  ${style.dim(shown)} ${line}`;
  });
}
